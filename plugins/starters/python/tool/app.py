"""The tool `todos`: counts the lines with a TODO, file by file.

It needs the grant `workspace-read` and changes nothing; the host searches, beneath the workspace's
root, and leaves out what ignore files exclude.
"""

import json
from typing import List

from told import told
from wit_world.exports.tool import Outcome, Part_Text, Spec
from wit_world.imports.types import Call, Effects
from wit_world.imports.workspace_read import GrepMode, GrepQuery, grep

# Files named in one outcome: a model reads every line.
MOST_FILES = 100

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The directory to look in; the whole workspace when left out.",
        }
    },
    "additionalProperties": False,
}


class Tool:
    """What the host calls; the name is the contract's."""

    @told
    def specs(self) -> List[Spec]:
        """What it offers."""
        return [
            Spec(
                name="todos",
                description="Counts the lines that hold the word TODO, file by file.",
                input_schema=json.dumps(SCHEMA),
                effects=Effects.READ,
                timeout_ms=30_000,
                timeout_argument=None,
                path_arguments=["path"],
            )
        ]

    @told
    def run(self, call: Call) -> Outcome:
        """One call. A fault of the host's is raised by itself and reaches the model."""
        root = json.loads(call.input).get("path", ".")
        page = grep(
            GrepQuery(
                pattern=r"\bTODO\b",
                literal=False,
                ignore_case=False,
                multiline=False,
                root=root,
                files=None,
                mode=GrepMode.COUNT,
                lines_before=0,
                lines_after=0,
                include_ignored=False,
                offset=0,
                limit=MOST_FILES,
            )
        )
        files = "file" if page.total_files == 1 else "files"
        summary = f"{page.total_matches} in {page.total_files} {files}"
        if page.total_matches == 0:
            summary = "no TODO"
        lines = [f"{file.path}: {file.matches}\n" for file in page.files]
        return Outcome([Part_Text("".join(lines) + summary)], summary, None, None)
