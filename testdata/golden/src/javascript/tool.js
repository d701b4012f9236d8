// The golden tool in JavaScript: `count_lines` of a file in the workspace.
import { read } from "harness:plugin/workspace-read@0.1.0";

// Bytes of a file that are counted.
const BYTES = 1n << 20n;

const schema = {
  type: "object",
  properties: { path: { type: "string", description: "A file in the workspace" } },
  required: ["path"],
  additionalProperties: false,
};

export const tool = {
  specs() {
    return [
      {
        name: "count_lines",
        description: "Count the lines of a text file",
        inputSchema: JSON.stringify(schema),
        effects: { read: true },
        timeoutMs: 30_000,
        timeoutArgument: undefined,
        pathArguments: ["path"],
      },
    ];
  },
  run(call) {
    const { path } = JSON.parse(call.input);
    // What the host throws is the contract's fault, and goes on to the model as it is.
    const { bytes } = read(path, 0n, BYTES);
    const lines = bytes.reduce((count, byte) => count + (byte === 10), 0);
    return {
      parts: [{ tag: "text", val: `\`${path}\` has ${lines} lines` }],
      summary: `${lines} lines`,
      data: undefined,
      exitCode: undefined,
    };
  },
};
