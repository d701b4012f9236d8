"""The conformance suite `llm-comply`: its tests of chat completions.

Usage: python llm_comply_chat.py PATH_OF_HARNESS. Exits with 1 when a test ends in another way than
the table says. What is refused by design stands there with its status, so that the day on which it
is no longer refused shows too.
"""

import json
import subprocess
import sys

import scripted

ANSWERS = """
[[turn]]
text = "Hello."
usage = { prompt = 10, completion = 5, reasoning = 2 }
"""

# Tests that fail, and the status by which; the others must pass, without a warning.
REFUSED = {
    "chat-tool-calling": 400,  # a client's tools are refused
}


def main(binary):
    # Without a model of the server's own each request must name one, as OpenAI's API asks.
    with scripted.scripted(binary, ANSWERS, model=None) as place:
        suite = [sys.executable, "-m", "llm_comply.cli", "--format", "openai-chat", "--json"]
        # By the name of a model that reasons, the suite tests reasoning too.
        suite += ["--base-url", place.url, "--api-key", "any", "--model", "gpt-5-scripted"]
        told = subprocess.run(suite, stdout=subprocess.PIPE, text=True, timeout=120)
        results = json.loads(told.stdout)["results"]
        place.kept_the_rules()
    assert REFUSED.keys() <= {result["id"] for result in results}, results
    for result in results:
        status = REFUSED.get(result["id"])
        if status:
            assert result["errors"][0].startswith(f"HTTP {status} "), result
        else:
            assert result["status"] == "passed" and not result.get("warnings"), result


if __name__ == "__main__":
    main(sys.argv[1])
