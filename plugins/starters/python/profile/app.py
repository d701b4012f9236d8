"""The profile `example`: two differences of a provider from OpenAI's wire.

It is data: the host asks once, when it loads, and applies the quirks by itself. The functions below
`describe` are for a provider with a wire of its own, and are never called for this one.
"""

import json
from typing import List

from componentize_py_types import Err
from told import told
from wit_world.exports.provider_profile import Description
from wit_world.imports.types import Fault, FaultKind

# This provider limits output by another field, and gets confused by several calls in one reply.
QUIRKS = {"output_limit_field": "max_completion_tokens", "parallel_tool_calls": False}


def no_wire() -> Err:
    """Why there is nothing to translate."""
    return Err(Fault(FaultKind.UNSUPPORTED, "this profile has no wire of its own", None))


class ProviderProfile:
    """What the host calls; the name is the contract's."""

    @told
    def describe(self) -> List[Description]:
        """The named profiles of this component."""
        return [
            Description(
                name="example",
                matches=["*example.org*"],
                quirks=json.dumps(QUIRKS),
                own_wire=False,
            )
        ]

    @told
    def frame_request(self, name, request):
        """A request without its messages."""
        raise no_wire()

    @told
    def encode_message(self, name, message):
        """One message."""
        raise no_wire()

    @told
    def classify(self, name, status, headers, body):
        """What a failure means; None leaves it to the host."""
        return None

    @told
    def rescue(self, name, text, tools):
        """Calls that a model wrote as text."""
        return None
