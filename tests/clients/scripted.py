"""A scripted upstream and a server in front of it, for the time of one test.

Knows no client. Both listen on free loopback ports; what they write lies in a temporary directory
and is gone afterwards. What the scripts have in common stands here, so that every client is asked
for the same.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import urllib.request

ANSWER = "It says héllo \u2028 wörld."

# A run with a call in the middle. The mock plays it once for each first user message.
RUN = """
[[turn]]
text = "Let me look."
calls = [{ tool = "read", input = { path = "a.txt" } }]
usage = { prompt = 50, completion = 5 }
[[turn]]
text = "It says héllo \\u2028 wörld."
expect = ["a file for clients"]
usage = { prompt = 100, completion = 10, cached = 50 }
"""
PROMPT_TOKENS, COMPLETION_TOKENS, CACHED_TOKENS = 150, 15, 50

# A run that leaves something behind in its workspace.
WRITES = """
[[turn]]
calls = [{ tool = "write", input = { path = "left.txt", content = "behind" } }]
[[turn]]
text = "Written."
"""

# The second question of a conversation: the request brings the first question and its answer. It
# is silent for longer than the 10 s between two signs of life in a stream.
SLOW_FOLLOW_UP = """
[[turn]]
text = "Since you asked twice."
expect = ["And why?"]
pause_ms = 12000
"""
FOLLOW_UP_ANSWER = "Since you asked twice."

# A run that fails for good after a tool has changed something: doing it again would be harm.
FAILS_AFTER_TOOL = """
[[turn]]
calls = [{ tool = "write", input = { path = "done.txt", content = "once" } }]
[[turn]]
status = 500
headers = { x-should-retry = "false" }
body = "scripted failure"
repeat = 20
"""
# What the upstream has to answer for it: the call, and the failure.
REQUESTS_OF_ONE_FAILURE = 2


class Scripted:
    """What a test sees of the two."""

    def __init__(self, upstream, server, workspace):
        self.upstream = upstream
        self.url = f"{server}/v1"
        self.workspace = str(workspace)

    def requests(self):
        """What the upstream was sent so far, in order, as `docs/mock.md` tells it."""
        address = f"{self.upstream.removesuffix('/v1')}/mock/requests"
        with urllib.request.urlopen(address) as response:
            return [json.loads(line) for line in response.read().splitlines()]

    def kept_the_rules(self):
        """Fails if a request broke a rule of the wire."""
        broken = [seen for seen in self.requests() if seen["violations"]]
        assert not broken, broken


@contextlib.contextmanager
def scripted(binary, script, model="scripted"):
    """Starts both, the server with this model if any, and stops them when the test is done."""
    with tempfile.TemporaryDirectory() as root, contextlib.ExitStack() as running:
        root = pathlib.Path(root)
        workspace = root / "workspace"
        workspace.mkdir()
        (workspace / "a.txt").write_text("a file for clients\n")
        (root / "script.toml").write_text(script)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "HARNESS_UPSTREAM_API_KEY": "sk-for-the-upstream-alone",
        }
        if model:
            environment["HARNESS_UPSTREAM_MODEL"] = model
        listen = ["--addr", "127.0.0.1:0"]
        mock = [binary, "mock", str(root / "script.toml"), *listen]
        upstream, _ = running.enter_context(started(mock, environment))
        environment["HARNESS_UPSTREAM_BASE_URL"] = upstream
        serve = [binary, "serve", *listen, "--log-level", "error"]
        url, server = running.enter_context(started(serve, environment))
        yield Scripted(upstream, url, workspace)
        server.terminate()
        assert server.wait(timeout=60) == 0, "the server did not stop in order"


@contextlib.contextmanager
def started(command, environment):
    """Starts a command, and gives the address that ends its first line, and the process."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        line = process.stdout.readline().split()
        assert line, f"`{' '.join(command[1:])}` did not start"
        yield line[-1], process
    finally:
        process.kill()
        process.wait()


def error_of(kind, call):
    """The error that a call ends with, which must be of this kind."""
    try:
        reply = call()
    except kind as err:
        return err
    raise AssertionError(f"expected {kind.__name__}, got {reply!r}")
