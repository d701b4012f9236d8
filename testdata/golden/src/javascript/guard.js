// The golden guard in JavaScript: refuses writes below `protected-javascript/`.
//
// A path `break-javascript/WORD` makes it misbehave the way WORD says, for the tests of what is told
// of a guard that breaks.
import { write } from "harness:plugin/log@0.1.0";

const misbehave = {
  panic() {
    throw new Error("the guard was told to panic");
  },
  logged() {
    write("error", "the guard's last words");
    throw new Error("the guard was told to panic");
  },
  loop() {
    for (;;);
  },
  memory() {
    const held = [];
    for (;;) held.push(new Uint8Array(1 << 20).fill(held.length));
  },
  recurse() {
    const deeper = (depth) => deeper(depth + 1) + 1;
    deeper(0);
  },
  result() {
    return 42;
  },
  chance() {
    const reason = `${Math.random()} at ${Date.now()}`;
    return { rule: "chance", reason };
  },
};

export const guard = {
  earlier() {
    return 0;
  },
  check(proposal) {
    const { path = "" } = JSON.parse(proposal.call.input);
    const [folder, word] = path.split("/");
    if (folder === "break-javascript") return misbehave[word]();
    if (folder === "protected-javascript") {
      return { rule: "protected", reason: "nothing below `protected-javascript/` is written to" };
    }
    return undefined;
  },
};
