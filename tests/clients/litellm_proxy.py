"""The `litellm` proxy between a stock client and the server: whole, streamed, body keys, errors.

Usage: python litellm_proxy.py PATH_OF_HARNESS. Exits with 1 at the first thing that is not as the
proxy's users expect it, and with 77, which stands for skipped, if the proxy does not come up.
"""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import openai

import scripted
from scripted import ANSWER, CACHED_TOKENS, COMPLETION_TOKENS, PROMPT_TOKENS, error_of

KEY = "sk-for-the-proxy-alone"

# The proxy does not read `x-should-retry`, so that it must be told not to send a run again.
SETTINGS = """
model_list:
  - model_name: {name}
    litellm_params:
      model: openai/harness
      api_base: {url}
      api_key: any
      max_retries: 0
"""
GENERAL = """
general_settings:
  master_key: {key}
litellm_settings:
  num_retries: 0
  telemetry: false
"""

# It imports for a minute on a small machine, and needs no longer than this on any.
START_SECONDS = 180
SKIPPED = 77


def main(binary):
    with contextlib.ExitStack() as running:
        places = {
            name: running.enter_context(scripted.scripted(binary, script))
            for name, script in {
                "agent": scripted.RUN,
                "slow": scripted.SLOW_FOLLOW_UP,
                "failing": scripted.FAILS_AFTER_TOOL,
            }.items()
        }
        client = running.enter_context(proxied(places))
        whole(client, places["agent"])
        streamed(client, places["agent"])
        errors(client, places["agent"])
        slow_follow_up(client)
        never_twice(client, places["failing"])


@contextlib.contextmanager
def proxied(places):
    """Starts the proxy with a model for each place, and gives a client of it."""
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        models = [SETTINGS.format(name=name, url=place.url) for name, place in places.items()]
        text = "".join([models[0], *(model.replace("\nmodel_list:", "") for model in models[1:])])
        (root / "config.yaml").write_text(text + GENERAL.format(key=KEY))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "NO_PROXY": "*",
            # Its list of prices would come from the network.
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        with open(root / "log", "w+") as log:
            proxy, port = started(root, environment, log)
            try:
                yield openai.OpenAI(
                    base_url=f"http://127.0.0.1:{port}", api_key=KEY, max_retries=0, timeout=120
                )
            except Exception:
                log.seek(0)
                print(log.read()[-8000:])
                raise
            finally:
                proxy.terminate()
                proxy.wait(timeout=60)


def started(root, environment, log):
    """A proxy that answers, and its port; ends the test as skipped when there is none."""
    for _ in range(3):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-c", "from litellm import run_server; run_server()"]
        command += ["--config", str(root / "config.yaml"), "--host", "127.0.0.1"]
        command += ["--port", str(port), "--telemetry", "False"]
        proxy = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=root)
        if wait_for(proxy, f"http://127.0.0.1:{port}/health/liveliness"):
            return proxy, port
        if proxy.poll() is None:
            proxy.kill()
            break
        # Somebody else may have taken the port meanwhile.
    log.seek(0)
    print(f"did not start within {START_SECONDS} s: {log.read()[-400:]}")
    sys.exit(SKIPPED)


def wait_for(proxy, address):
    """Whether the proxy answers before its time is over."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and proxy.poll() is None:
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(address, timeout=5):
                return True
        time.sleep(0.5)
    return False


def ask(client, model, task, **options):
    return client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": task}], **options
    )


def check_usage(usage):
    assert usage.prompt_tokens == PROMPT_TOKENS, usage
    assert usage.completion_tokens == COMPLETION_TOKENS, usage
    assert usage.prompt_tokens_details.cached_tokens == CACHED_TOKENS, usage


def whole(client, place):
    extra = {"harness": {"workspace": place.workspace}}
    raw = client.chat.completions.with_raw_response.create(
        model="agent", messages=[{"role": "user", "content": "whole"}], extra_body=extra
    )
    reply = raw.parse()
    assert reply.choices[0].message.content == ANSWER, reply
    assert reply.choices[0].finish_reason == "stop", reply
    check_usage(reply.usage)
    run = reply.model_extra["harness"]
    assert run["workspace"] == place.workspace and run["tool_calls"] == 1, run
    assert raw.headers["llm_provider-x-harness-session"] == run["session_id"], raw.headers

    extra = {"harness": {"session_id": run["session_id"]}}
    again = ask(client, "agent", "in the session", extra_body=extra)
    assert again.model_extra["harness"]["workspace"] == place.workspace, again


def streamed(client, place):
    chunks = list(
        ask(
            client,
            "agent",
            "streamed",
            extra_body={"harness": {"workspace": place.workspace}},
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    deltas = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(deltas) == ANSWER, deltas
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert [reason for reason in reasons if reason] == ["stop"], reasons
    check_usage(chunks[-1].usage)


def slow_follow_up(client):
    messages = [
        {"role": "user", "content": "Is it?"},
        {"role": "assistant", "content": "It is."},
        {"role": "user", "content": "And why?"},
    ]
    chunks = client.chat.completions.create(model="slow", messages=messages, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == scripted.FOLLOW_UP_ANSWER, text


def errors(client, place):
    extra = {"harness": {"workspaces": "/"}}
    err = error_of(
        openai.BadRequestError, lambda: ask(client, "agent", "never asked", extra_body=extra)
    )
    assert "did you mean `workspace`" in err.message, err
    place.kept_the_rules()


def never_twice(client, place):
    extra = {"harness": {"workspace": place.workspace}}
    for stream, task in ((False, "fails"), (True, "fails while streamed")):
        before = len(place.requests())
        try:
            list(ask(client, "failing", task, extra_body=extra, stream=stream))
            raise AssertionError("an upstream that fails must be an error")
        except openai.APIError as err:
            assert "scripted failure" in str(err), err
        sent = place.requests()[before:]
        assert len(sent) == scripted.REQUESTS_OF_ONE_FAILURE, sent


if __name__ == "__main__":
    main(sys.argv[1])
