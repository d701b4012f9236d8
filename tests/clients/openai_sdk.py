"""The Python `openai` SDK: whole, streamed, errors, sessions, retries.

Usage: python openai_sdk.py PATH_OF_HARNESS. Exits with 1 at the first thing that is not as the
SDK's users expect it.
"""

import asyncio
import json
import pathlib
import sys

import openai

import scripted
from scripted import ANSWER, CACHED_TOKENS, COMPLETION_TOKENS, PROMPT_TOKENS, error_of


def main(binary):
    with scripted.scripted(binary, scripted.RUN) as place:
        client = openai.OpenAI(base_url=place.url, api_key="any")
        extra = {"harness": {"workspace": place.workspace}}
        whole(client, extra)
        streamed(client, extra)
        asynchronous(place, extra)
        place.kept_the_rules()
        errors(client, extra)
    with scripted.scripted(binary, scripted.SLOW_FOLLOW_UP) as place:
        slow_follow_up(place)
        place.kept_the_rules()
    with scripted.scripted(binary, scripted.WRITES) as place:
        sessions(place)
    with scripted.scripted(binary, scripted.FAILS_AFTER_TOOL) as place:
        for stream in (False, True):
            never_twice(place, stream)


def task(text):
    """A conversation of its own for the mock."""
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": text}]},
    ]


def whole(client, extra):
    reply = client.chat.completions.create(
        model="harness", messages=task("whole"), extra_body=extra, temperature=0, seed=7, user="me"
    )
    assert reply.id.startswith("chatcmpl-"), reply
    assert reply.object == "chat.completion" and reply.model == "harness", reply
    assert reply.choices[0].message.content == ANSWER, reply
    assert reply.choices[0].finish_reason == "stop", reply
    assert not reply.choices[0].message.tool_calls, reply
    assert reply.usage.prompt_tokens == PROMPT_TOKENS, reply
    assert reply.usage.completion_tokens == COMPLETION_TOKENS, reply
    assert reply.usage.total_tokens == PROMPT_TOKENS + COMPLETION_TOKENS, reply
    assert reply.usage.prompt_tokens_details.cached_tokens == CACHED_TOKENS, reply
    run = reply.model_extra["harness"]
    assert run["termination_reason"] == "completed" and run["tool_calls"] == 1, run
    assert any("user" in note for note in run["notes"]), run

    raw = client.chat.completions.with_raw_response.create(
        model="harness", messages=task("raw"), extra_body=extra
    )
    assert raw.headers["x-harness-run"].startswith("run_"), raw.headers
    assert raw.headers["x-harness-session"].startswith("ws_"), raw.headers
    assert raw.parse()._request_id, raw.headers

    models = [model.id for model in client.models.list()]
    assert "harness" in models, models
    assert client.models.retrieve("harness").object == "model"


def streamed(client, extra):
    chunks = list(
        client.chat.completions.create(
            model="harness",
            messages=task("streamed"),
            extra_body=extra,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1, chunks
    assert chunks[0].choices[0].delta.role == "assistant", chunks[0]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == ANSWER, text
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert reasons[-1] == "stop" and not any(reasons[:-1]), reasons
    assert chunks[-1].choices == [], chunks[-1]
    assert chunks[-1].usage.total_tokens == PROMPT_TOKENS + COMPLETION_TOKENS, chunks[-1]

    with client.chat.completions.stream(
        model="harness", messages=task("the stream helper"), extra_body=extra
    ) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert "content.delta" in kinds and "content.done" in kinds, kinds
    assert final.choices[0].message.content == ANSWER, final


def asynchronous(place, extra):
    async def ask():
        async with openai.AsyncOpenAI(base_url=place.url, api_key="any") as client:
            stream = await client.chat.completions.create(
                model="harness", messages=task("asynchronous"), extra_body=extra, stream=True
            )
            return [chunk async for chunk in stream]

    chunks = asyncio.run(ask())
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == ANSWER, text
    assert all(chunk.usage is None for chunk in chunks), chunks


def slow_follow_up(place):
    """The signs of life come as comments, which the SDK's chunks show nothing of."""
    client = openai.OpenAI(base_url=place.url, api_key="any")
    messages = [*task("Is it?"), {"role": "assistant", "content": "It is."}]
    messages.append({"role": "user", "content": "And why?"})
    request = {"model": "harness", "messages": messages, "stream": True}
    with client.chat.completions.with_streaming_response.create(**request) as raw:
        lines = [line for line in raw.iter_lines() if line]
    assert ": keep-alive" in lines and lines[-1] == "data: [DONE]", lines
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == scripted.FOLLOW_UP_ANSWER, text


def sessions(place):
    def ask(text, harness=None, model="harness", headers=None):
        client = openai.OpenAI(base_url=place.url, api_key="any", default_headers=headers)
        extra = {"harness": harness} if harness else None
        reply = client.chat.completions.create(model=model, messages=task(text), extra_body=extra)
        assert reply.model == model, reply
        run = reply.model_extra["harness"]
        return run["session_id"], run["workspace"]

    first = ask("a session")
    session, workspace = first
    assert (pathlib.Path(workspace) / "left.txt").read_text() == "behind"
    assert ask("named in the body", {"session_id": session}) == first
    assert ask("named in the model", model=f"harness::{session}") == first
    assert ask("named in a header", headers={"X-Harness-Session": session}) == first
    other = ask("another session")
    assert other[0] != session and other[1] != workspace, (first, other)
    err = error_of(
        openai.BadRequestError,
        lambda: ask("two at once", {"session_id": session}, model=f"harness::{other[0]}"),
    )
    assert err.code == "contradiction", err


def never_twice(place, stream):
    """The SDK sends again after an error, unless it is told not to."""
    client = openai.OpenAI(base_url=place.url, api_key="any")
    assert client.max_retries > 0
    extra = {"harness": {"workspace": place.workspace}}
    before = len(place.requests())
    request = {"model": "harness", "messages": task(f"fails, {stream}"), "extra_body": extra}
    if stream:
        # The headers are gone when a streamed run fails, so that the error has no status.
        request["stream"] = True
        err = error_of(openai.APIError, lambda: list(client.chat.completions.create(**request)))
    else:
        kind = openai.InternalServerError
        err = error_of(kind, lambda: client.chat.completions.create(**request))
        assert err.status_code == 502, err
    assert err.code == "upstream-failed", err
    sent = place.requests()[before:]
    assert len(sent) == scripted.REQUESTS_OF_ONE_FAILURE, sent


def errors(client, extra):
    def refused(kind, **options):
        request = {"model": "harness", "messages": task("never asked"), **options}
        return error_of(kind, lambda: client.chat.completions.create(**request))

    err = refused(openai.BadRequestError, messages=[])
    assert err.param == "messages" and err.type == "invalid_request_error", err
    function = {"name": "f", "parameters": {"type": "object"}}
    for options in (
        {"n": 2},
        {"tools": [{"type": "function", "function": function}]},
        {"extra_body": {"harness": {"workspaces": "/"}}},
        {"extra_body": {"harness": {"workspace": "relative"}}},
        {"stream": True, "messages": []},
    ):
        refused(openai.BadRequestError, **options)
    refused(openai.NotFoundError, extra_body={"harness": {"session_id": "ws_00000000"}})
    err = error_of(openai.NotFoundError, lambda: client.models.retrieve("nobody's"))
    assert err.code == "model_not_found", err

    # The script is used up for a conversation that was played: the upstream fails for good.
    once = client.with_options(max_retries=0)
    request = {"model": "harness", "messages": task("streamed"), "extra_body": extra}
    err = error_of(openai.InternalServerError, lambda: once.chat.completions.create(**request))
    assert err.status_code == 502 and err.code == "upstream-failed", err


if __name__ == "__main__":
    main(sys.argv[1])
