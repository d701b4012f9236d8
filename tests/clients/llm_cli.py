"""The command line `llm`: whole, streamed, usage, a conversation, errors, retries.

Usage: python llm_cli.py PATH_OF_HARNESS. Exits with 1 at the first thing that is not as the users
of `llm` expect it.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import scripted
from scripted import ANSWER, COMPLETION_TOKENS, PROMPT_TOKENS

# `llm` sends headers, but no keys of its own in the body.
SETTINGS = """
- model_id: harness
  model_name: harness
  api_base: {url}
  headers:
    X-Harness-Workspace: {workspace}
"""


class Llm:
    """`llm` with settings and a log of its own."""

    def __init__(self, place, home):
        settings = SETTINGS.format(url=place.url, workspace=place.workspace)
        (pathlib.Path(home) / "extra-openai-models.yaml").write_text(settings)
        self.environment = {**os.environ, "LLM_USER_PATH": home, "PYTHONUTF8": "1"}

    def run(self, *words):
        command = [sys.executable, "-m", "llm", *words]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=120
        )

    def ask(self, *words):
        ended = self.run("-m", "harness", *words)
        assert ended.returncode == 0, ended
        return ended.stdout.rstrip("\n"), ended.stderr


def main(binary):
    with tempfile.TemporaryDirectory() as home:
        with scripted.scripted(binary, scripted.RUN) as place:
            answers(Llm(place, home))
            place.kept_the_rules()
        # `--continue` sends the last question and its answer along.
        with scripted.scripted(binary, scripted.SLOW_FOLLOW_UP) as place:
            answer, _ = Llm(place, home).ask("--continue", "And why?")
            assert answer == scripted.FOLLOW_UP_ANSWER, answer
            place.kept_the_rules()
        with scripted.scripted(binary, scripted.FAILS_AFTER_TOOL) as place:
            for words in (["fails while streamed"], ["fails", "--no-stream"]):
                never_twice(place, Llm(place, home), words)


def answers(llm):
    assert llm.ask("whole", "--no-stream")[0] == ANSWER
    refused = llm.run("-m", "harness", "never asked", "-o", "max_tokens", "-1")
    assert refused.returncode == 1 and "max_tokens" in refused.stderr, refused
    answer, usage = llm.ask("streamed", "--usage")
    assert answer == ANSWER, answer
    assert f"{PROMPT_TOKENS} input" in usage and f"{COMPLETION_TOKENS} output" in usage, usage
    logged = json.loads(llm.run("logs", "--json", "--count", "1").stdout)[0]
    assert logged["response"] == ANSWER, logged
    assert logged["input_tokens"] == PROMPT_TOKENS, logged


def never_twice(place, llm, words):
    before = len(place.requests())
    failed = llm.run("-m", "harness", *words)
    assert failed.returncode == 1 and "scripted failure" in failed.stderr, failed
    sent = place.requests()[before:]
    assert len(sent) == scripted.REQUESTS_OF_ONE_FAILURE, sent


if __name__ == "__main__":
    main(sys.argv[1])
