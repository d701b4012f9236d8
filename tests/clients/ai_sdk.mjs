// The AI SDK (`ai`) with its provider `@ai-sdk/openai-compatible`: whole, streamed, usage, errors,
// retries.
//
// Usage: node ai_sdk.mjs PATH_OF_HARNESS. Exits with 1 at the first thing that is not as the SDK's
// users expect it.

import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, streamText, tool, jsonSchema } from "ai";
import * as script from "./scripted.mjs";

const binary = process.argv[2];

// `providerOptions.harness` becomes keys of the body, since the provider is named `harness`; one of
// them is the server's `harness` object.
function asked(place, prompt, options) {
  const harness = createOpenAICompatible({
    name: "harness",
    baseURL: place.url,
    apiKey: "any",
    includeUsage: true,
  });
  return {
    model: harness(options?.model ?? "harness"),
    prompt,
    providerOptions: { harness: { harness: { workspace: place.workspace } } },
    maxRetries: 0,
    ...options?.call,
  };
}

function checkUsage(usage) {
  assert.equal(usage.inputTokens, script.USAGE.prompt);
  assert.equal(usage.outputTokens, script.USAGE.completion);
  assert.equal(usage.inputTokenDetails.cacheReadTokens, script.USAGE.cached);
}

async function whole(place) {
  const reply = await generateText(asked(place, "whole"));
  assert.equal(reply.text, script.ANSWER);
  assert.equal(reply.finishReason, "stop");
  checkUsage(reply.usage);
  assert.equal(reply.response.body.harness.workspace, place.workspace);
  const session = reply.response.headers["x-harness-session"];
  assert.equal(reply.response.body.harness.session_id, session);

  const options = { model: `harness::${session}`, call: { providerOptions: {} } };
  const again = await generateText(asked(place, "in the session", options));
  assert.equal(again.response.body.harness.session_id, session);
}

async function streamed(place) {
  const parts = [];
  const stream = streamText(asked(place, "streamed"));
  for await (const part of stream.fullStream) parts.push(part);
  const text = parts.filter((part) => part.type === "text-delta").map((part) => part.text);
  assert.equal(text.join(""), script.ANSWER);
  assert.deepEqual(parts.filter((part) => part.type === "error"), []);
  assert.equal(await stream.finishReason, "stop");
  checkUsage(await stream.usage);
  const { headers } = await stream.response;
  assert.ok(headers["x-harness-session"].startsWith("ws_"));
}

async function errors(place) {
  const refused = [
    { providerOptions: { harness: { harness: { workspaces: "/" } } } },
    { tools: { f: tool({ inputSchema: jsonSchema({ type: "object", properties: {} }) }) } },
  ];
  for (const call of refused) {
    await assert.rejects(generateText(asked(place, "never asked", { call })), (err) => {
      assert.ok(APICallError.isInstance(err), `${err}`);
      assert.equal(err.statusCode, 400);
      assert.equal(err.isRetryable, false);
      assert.ok(err.data.error.message, `${err}`);
      return true;
    });
  }
}

async function slowFollowUp(place) {
  const messages = [
    { role: "user", content: "Is it?" },
    { role: "assistant", content: "It is." },
    { role: "user", content: "And why?" },
  ];
  const { text } = streamText(asked(place, undefined, { call: { messages } }));
  assert.equal(await text, script.FOLLOW_UP_ANSWER);
}

// This SDK does not read `x-should-retry`, and does not say that it sends something again: the server
// knows a repeat by itself. An error inside of a stream is never repeated.
async function failure(place) {
  const before = (await place.requests()).length;
  await assert.rejects(generateText(asked(place, "fails")), (err) => {
    assert.equal(err.statusCode, 502, `${err}`);
    assert.equal(err.data.error.code, "upstream-failed");
    return true;
  });
  await once(place, before);
}

async function repeatedFailure(place) {
  const before = (await place.requests()).length;
  const call = { maxRetries: 2 };
  await assert.rejects(generateText(asked(place, "fails, repeated", { call })));
  await once(place, before);
}

async function streamedFailure(place) {
  const before = (await place.requests()).length;
  const failures = [];
  const onError = ({ error }) => failures.push(error.code);
  const call = { maxRetries: 2, onError };
  const stream = streamText(asked(place, "fails while streamed", { call }));
  await stream.consumeStream();
  assert.deepEqual(failures, ["upstream-failed"]);
  await once(place, before);
}

async function once(place, before) {
  const seen = (await place.requests()).slice(before);
  assert.equal(seen.length, script.REQUESTS_OF_ONE_FAILURE, JSON.stringify(seen));
}

await script.scripted(binary, script.RUN, async (place) => {
  await whole(place);
  await streamed(place);
  await errors(place);
  const broken = (await place.requests()).filter((seen) => seen.violations.length > 0);
  assert.deepEqual(broken, []);
});
await script.scripted(binary, script.SLOW_FOLLOW_UP, slowFollowUp);
await script.scripted(binary, script.FAILS_AFTER_TOOL, async (place) => {
  await failure(place);
  await repeatedFailure(place);
  await streamedFailure(place);
});
