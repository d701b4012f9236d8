"""`langchain-openai`: whole, streamed, usage, errors, a conversation, retries.

Usage: python langchain_openai_chat.py PATH_OF_HARNESS. Exits with 1 at the first thing that is not
as LangChain's users expect it.
"""

import sys

import openai
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

import scripted
from scripted import ANSWER, CACHED_TOKENS, COMPLETION_TOKENS, PROMPT_TOKENS, error_of


def model_at(place, **options):
    return ChatOpenAI(
        model="harness",
        base_url=place.url,
        api_key="any",
        extra_body={"harness": {"workspace": place.workspace}},
        **options,
    )


def main(binary):
    with scripted.scripted(binary, scripted.RUN) as place:
        whole(place)
        streamed(model_at(place, stream_usage=True))
        errors(model_at(place))
    with scripted.scripted(binary, scripted.SLOW_FOLLOW_UP) as place:
        conversation = [
            SystemMessage("Be brief."),
            HumanMessage("Is it?"),
            AIMessage("It is."),
            HumanMessage("And why?"),
        ]
        text = "".join(chunk.content for chunk in model_at(place).stream(conversation))
        assert text == scripted.FOLLOW_UP_ANSWER, text
        place.kept_the_rules()
    with scripted.scripted(binary, scripted.FAILS_AFTER_TOOL) as place:
        for stream in (False, True):
            never_twice(place, stream)


def check_usage(usage):
    assert usage["input_tokens"] == PROMPT_TOKENS, usage
    assert usage["output_tokens"] == COMPLETION_TOKENS, usage
    assert usage["total_tokens"] == PROMPT_TOKENS + COMPLETION_TOKENS, usage
    assert usage["input_token_details"]["cache_read"] == CACHED_TOKENS, usage


def whole(place):
    reply = model_at(place, include_response_headers=True).invoke("whole")
    assert reply.content == ANSWER and not reply.tool_calls, reply
    assert reply.response_metadata["finish_reason"] == "stop", reply
    assert reply.response_metadata["model_name"] == "harness", reply
    headers = reply.response_metadata["headers"]
    assert headers["x-harness-session"].startswith("ws_"), headers
    check_usage(reply.usage_metadata)

    session = f"harness::{headers['x-harness-session']}"
    again = ChatOpenAI(model=session, base_url=place.url, api_key="any").invoke("in the session")
    assert again.content == ANSWER, again
    assert again.response_metadata["model_name"] == session, again


def streamed(model):
    reply = None
    for chunk in model.stream("streamed"):
        reply = chunk if reply is None else reply + chunk
    assert reply.content == ANSWER, reply
    assert reply.response_metadata["finish_reason"] == "stop", reply
    check_usage(reply.usage_metadata)


def errors(model):
    for options in ({"n": 2}, {"extra_body": {"harness": {"workspace": "relative"}}}):
        err = error_of(openai.BadRequestError, lambda: model.invoke("never asked", **options))
        assert err.param, err
    # Tools of the client's own are not supported yet.
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    with_tools = model.bind_tools([tool])
    err = error_of(openai.BadRequestError, lambda: with_tools.invoke("never asked"))
    assert err.param == "tools", err


def never_twice(place, stream):
    """LangChain leaves retries to the `openai` SDK."""
    model = model_at(place, max_retries=2)
    before = len(place.requests())
    if stream:
        err = error_of(openai.APIError, lambda: list(model.stream("fails while streamed")))
    else:
        err = error_of(openai.InternalServerError, lambda: model.invoke("fails"))
    assert err.code == "upstream-failed", err
    sent = place.requests()[before:]
    assert len(sent) == scripted.REQUESTS_OF_ONE_FAILURE, sent


if __name__ == "__main__":
    main(sys.argv[1])
