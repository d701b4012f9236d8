"""The stock `openai` SDK against the real binary: whole, streamed, errors, retries.

Usage: python openai_sdk.py PATH_OF_HARNESS. Starts a scripted upstream and a server on free
loopback ports in a temporary directory, and exits with 1 at the first thing that is not as the
SDK's users expect it.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import openai

SCRIPT = """
[[turn]]
text = "Let me look."
calls = [{ tool = "read", input = { path = "a.txt" } }]
[[turn]]
text = "It says héllo \\u2028 wörld."
usage = { prompt = 100, completion = 10, cached = 50 }
"""


def started(command, **kwargs):
    """Starts a process and returns it with the address it prints in its first line."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **kwargs)
    return process, process.stdout.readline().split()[-1]


def main(binary):
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        workspace = root / "workspace"
        workspace.mkdir()
        (workspace / "a.txt").write_text("hello\n")
        script = root / "script.toml"
        script.write_text(SCRIPT)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "HARNESS_UPSTREAM_MODEL": "scripted",
            "HARNESS_UPSTREAM_API_KEY": "sk-for-the-upstream-alone",
        }
        mock, upstream = started([binary, "mock", str(script), "--addr", "127.0.0.1:0"])
        environment["HARNESS_UPSTREAM_BASE_URL"] = upstream
        server, url = started(
            [binary, "serve", "--addr", "127.0.0.1:0", "--log-level", "error"], env=environment
        )
        try:
            check(openai.OpenAI(base_url=f"{url}/v1", api_key="any"), str(workspace))
        finally:
            server.terminate()
            mock.terminate()
            assert server.wait(timeout=30) == 0, "the server did not stop in order"


def check(client, workspace):
    extra = {"harness": {"workspace": workspace}}

    def ask(task, **options):
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": task}]},
        ]
        return client.chat.completions.create(
            model="harness", messages=messages, extra_body=extra, **options
        )

    expected = "It says héllo \u2028 wörld."
    whole = ask("whole")
    assert whole.id.startswith("chatcmpl-"), whole
    assert whole.model == "harness", whole
    assert whole.choices[0].message.content == expected, whole
    assert whole.choices[0].finish_reason == "stop", whole
    assert whole.usage.prompt_tokens_details.cached_tokens == 50, whole
    assert whole.model_extra["harness"]["termination_reason"] == "completed", whole
    print("ok: whole")

    chunks = list(ask("streamed", stream=True, stream_options={"include_usage": True}))
    assert len({(c.id, c.created, c.model) for c in chunks}) == 1, chunks
    assert chunks[0].choices[0].delta.role == "assistant", chunks[0]
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == expected, text
    reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
    assert reasons[-1] == "stop" and not any(reasons[:-1]), reasons
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 110, chunks[-1]
    print("ok: streamed")

    with client.chat.completions.stream(
        model="harness",
        messages=[{"role": "user", "content": "the stream helper"}],
        extra_body=extra,
    ) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    assert events and final.choices[0].message.content == expected, final
    print("ok: the stream helper")

    raw = client.chat.completions.with_raw_response.create(
        model="harness", messages=[{"role": "user", "content": "raw"}], extra_body=extra
    )
    assert raw.headers["x-harness-run"].startswith("run_"), raw.headers
    assert raw.headers["x-harness-session"].startswith("ws_"), raw.headers
    assert raw.parse()._request_id, raw.headers
    print("ok: headers")

    # The script is used up for a conversation that was played: the upstream fails for good.
    try:
        ask("whole")
        raise SystemExit("an upstream that fails must be an error")
    except openai.InternalServerError as err:
        assert err.status_code == 502 and err.code == "upstream-failed", err
    print("ok: an error of the upstream")

    try:
        client.chat.completions.create(model="harness", messages=[])
        raise SystemExit("no messages must be an error")
    except openai.BadRequestError as err:
        assert err.param == "messages" and err.type == "invalid_request_error", err
    print("ok: an error of the client")

    assert "harness" in [model.id for model in client.models.list()]
    print("ok: models")


if __name__ == "__main__":
    main(sys.argv[1])
