"""The golden tool in Python: `count_lines` of a file in the workspace."""

import json

from wit_world import exports
from wit_world.exports.tool import Outcome, Part_Text, Spec
from wit_world.imports import workspace_read
from wit_world.imports.types import Effects

# Bytes of a file that are counted.
BYTES = 1 << 20

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "A file in the workspace"}},
    "required": ["path"],
    "additionalProperties": False,
}


class Tool(exports.Tool):
    def specs(self):
        return [
            Spec(
                name="count_lines",
                description="Count the lines of a text file",
                input_schema=json.dumps(SCHEMA),
                effects=Effects.READ,
                timeout_ms=30_000,
                timeout_argument=None,
                path_arguments=["path"],
            )
        ]

    def run(self, call):
        path = json.loads(call.input)["path"]
        # What the host raises is the contract's fault, and goes on to the model as it is.
        content = workspace_read.read(path, 0, BYTES)
        lines = content.bytes.count(b"\n")
        return Outcome(
            parts=[Part_Text(f"`{path}` has {lines} lines")],
            summary=f"{lines} lines",
            data=None,
            exit_code=None,
        )
