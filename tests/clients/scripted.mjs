// A scripted upstream and a server in front of it, for the time of one test: what `scripted.py` is
// for the clients in Python.
//
// Knows no client. Both listen on free loopback ports; what they write lies in a temporary
// directory and is gone afterwards.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const ANSWER = "It says héllo \u2028 wörld.";

// A run with a call in the middle. The mock plays it once for each first user message.
export const RUN = `
[[turn]]
text = "Let me look."
calls = [{ tool = "read", input = { path = "a.txt" } }]
usage = { prompt = 50, completion = 5 }
[[turn]]
text = "It says héllo \\u2028 wörld."
expect = ["a file for clients"]
usage = { prompt = 100, completion = 10, cached = 50 }
`;
export const USAGE = { prompt: 150, completion: 15, cached: 50 };

// The second question of a conversation: the request brings the first question and its answer. It
// is silent for longer than the 10 s between two signs of life in a stream.
export const SLOW_FOLLOW_UP = `
[[turn]]
text = "Since you asked twice."
expect = ["And why?"]
pause_ms = 12000
`;
export const FOLLOW_UP_ANSWER = "Since you asked twice.";

// A run that fails for good after a tool has changed something: doing it again would be harm.
export const FAILS_AFTER_TOOL = `
[[turn]]
calls = [{ tool = "write", input = { path = "done.txt", content = "once" } }]
[[turn]]
status = 500
headers = { x-should-retry = "false" }
body = "scripted failure"
repeat = 20
`;
// What the upstream has to answer for it: the call, and the failure.
export const REQUESTS_OF_ONE_FAILURE = 2;

// Starts both, has `test` look at them, and stops them.
export async function scripted(binary, script, test) {
  const root = await mkdtemp(join(tmpdir(), "harness-client-"));
  const running = [];
  try {
    const workspace = join(root, "workspace");
    await mkdir(workspace);
    await writeFile(join(workspace, "a.txt"), "a file for clients\n");
    await writeFile(join(root, "script.toml"), script);
    const listen = ["--addr", "127.0.0.1:0"];
    const env = {
      PATH: process.env.PATH,
      HOME: root,
      HARNESS_UPSTREAM_MODEL: "scripted",
      HARNESS_UPSTREAM_API_KEY: "sk-for-the-upstream-alone",
    };
    const mock = ["mock", join(root, "script.toml"), ...listen];
    const [upstream] = await started(running, binary, mock, env);
    env.HARNESS_UPSTREAM_BASE_URL = upstream;
    const serve = ["serve", ...listen, "--log-level", "error"];
    const [url, server] = await started(running, binary, serve, env);
    await test({ url: `${url}/v1`, workspace, requests: () => requests(upstream) });
    server.kill("SIGTERM");
    const [code] = await once(server, "exit");
    assert.equal(code, 0, "the server did not stop in order");
  } finally {
    for (const child of running) child.kill("SIGKILL");
    await rm(root, { recursive: true });
  }
}

// Starts a process and returns the address that ends its first line, and the process.
async function started(running, binary, words, env) {
  const child = spawn(binary, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return [line.split(" ").at(-1), child];
  }
  throw new Error(`\`${words[0]}\` did not start`);
}

// What the upstream was sent so far, in order, as `docs/mock.md` tells it.
async function requests(upstream) {
  const response = await fetch(upstream.replace(/\/v1$/, "/mock/requests"));
  const lines = (await response.text()).split("\n").filter((line) => line);
  return lines.map((line) => JSON.parse(line));
}
