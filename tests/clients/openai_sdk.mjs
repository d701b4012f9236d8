// The Node `openai` SDK: whole, streamed, errors, sessions, retries.
//
// Usage: node openai_sdk.mjs PATH_OF_HARNESS. Exits with 1 at the first thing that is not as the
// SDK's users expect it.

import assert from "node:assert/strict";
import OpenAI from "openai";
import * as script from "./scripted.mjs";

const binary = process.argv[2];

const clientOf = (place, options) => new OpenAI({ baseURL: place.url, apiKey: "any", ...options });

function asked(place, task, options) {
  return {
    model: "harness",
    messages: [{ role: "user", content: [{ type: "text", text: task }] }],
    harness: { workspace: place.workspace },
    ...options,
  };
}

async function whole(place) {
  const client = clientOf(place);
  const { data, response } = await client.chat.completions
    .create(asked(place, "whole"))
    .withResponse();
  assert.equal(data.choices[0].message.content, script.ANSWER);
  assert.equal(data.choices[0].finish_reason, "stop");
  assert.equal(data.model, "harness");
  assert.equal(data.usage.prompt_tokens, script.USAGE.prompt);
  assert.equal(data.usage.completion_tokens, script.USAGE.completion);
  assert.equal(data.usage.prompt_tokens_details.cached_tokens, script.USAGE.cached);
  assert.equal(data.harness.termination_reason, "completed");
  assert.equal(data.harness.tool_calls, 1);
  const session = response.headers.get("x-harness-session");
  assert.equal(data.harness.session_id, session);
  assert.ok(data._request_id);

  // The session goes on under both its names; without a workspace, since it has one.
  const again = { harness: { session_id: session } };
  const named = await client.chat.completions.create(asked(place, "in the body", again));
  assert.equal(named.harness.workspace, data.harness.workspace);
  const suffix = { model: `harness::${session}`, harness: undefined };
  const suffixed = await client.chat.completions.create(asked(place, "in the model", suffix));
  assert.equal(suffixed.harness.session_id, session);
  assert.equal(suffixed.model, suffix.model);

  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  assert.ok(models.includes("harness"), models.join());
}

async function streamed(place) {
  const options = { stream: true, stream_options: { include_usage: true } };
  const stream = await clientOf(place).chat.completions.create(asked(place, "streamed", options));
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
  assert.equal(text, script.ANSWER);
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.equal(chunks.at(-1).usage.prompt_tokens, script.USAGE.prompt);
  assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
}

// The SDK's own accumulator, which is strict about the shape of chunks.
async function streamedByHelper(place) {
  const stream = clientOf(place).chat.completions.stream(asked(place, "the stream helper"));
  const contents = [];
  stream.on("content", (piece) => contents.push(piece));
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].message.content, script.ANSWER);
  assert.equal(contents.join(""), script.ANSWER);
}

async function errors(place) {
  const client = clientOf(place);
  const never = (options) => client.chat.completions.create(asked(place, "never asked", options));
  const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
  const refused = [
    { messages: [] },
    { n: 2 },
    { tools: [tool] },
    { harness: { workspaces: "/" } },
    { stream: true, messages: [] },
  ];
  for (const options of refused) {
    await assert.rejects(never(options), (err) => {
      assert.ok(err instanceof OpenAI.BadRequestError, `${err}`);
      assert.equal(err.type, "invalid_request_error");
      return true;
    });
  }
  await assert.rejects(never({ harness: { session_id: "ws_00000000" } }), OpenAI.NotFoundError);
  await assert.rejects(client.models.retrieve("nobody's"), OpenAI.NotFoundError);
}

async function slowFollowUp(place) {
  const messages = [
    { role: "user", content: "Is it?" },
    { role: "assistant", content: "It is." },
    { role: "user", content: "And why?" },
  ];
  const request = asked(place, "", { messages, stream: true });
  let text = "";
  for await (const chunk of await clientOf(place).chat.completions.create(request)) {
    text += chunk.choices[0].delta.content ?? "";
  }
  assert.equal(text, script.FOLLOW_UP_ANSWER);
}

// The SDK sends again after an error, unless it is told not to.
async function neverTwice(place, stream) {
  const before = (await place.requests()).length;
  const ask = async () => {
    const request = asked(place, `fails, ${stream}`, { stream });
    const reply = await clientOf(place).chat.completions.create(request);
    for await (const _ of reply);
  };
  await assert.rejects(ask(), (err) => {
    assert.ok(err instanceof OpenAI.APIError, `${err}`);
    assert.equal(err.code, "upstream-failed");
    return true;
  });
  const seen = (await place.requests()).slice(before);
  assert.equal(seen.length, script.REQUESTS_OF_ONE_FAILURE, JSON.stringify(seen));
}

await script.scripted(binary, script.RUN, async (place) => {
  await whole(place);
  await streamed(place);
  await streamedByHelper(place);
  await errors(place);
  const broken = (await place.requests()).filter((seen) => seen.violations.length > 0);
  assert.deepEqual(broken, []);
});
await script.scripted(binary, script.SLOW_FOLLOW_UP, slowFollowUp);
await script.scripted(binary, script.FAILS_AFTER_TOOL, async (place) => {
  for (const stream of [false, true]) await neverTwice(place, stream);
});
