"""Refuses writes outside `src/`.

It judges by where a path leads, which the host found out, links followed: to `src/../.env`, and to a
link that leads there, it says the same. It has no way to allow a call, only no objection.
"""

from typing import Optional

from told import told
from wit_world.exports.guard import Denial, Proposal
from wit_world.imports.types import Effects


class Guard:
    """What the host calls; the name is the contract's."""

    @told
    def earlier(self) -> int:
        """How many past calls a check wants to see."""
        return 0

    @told
    def check(self, proposal: Proposal) -> Optional[Denial]:
        """The objection to this call, if there is one."""
        # Which files a command writes, its text does not say; a guard may refuse commands whole.
        if Effects.EXECUTE in proposal.effects or Effects.WRITE not in proposal.effects:
            return None
        for named in proposal.paths:
            # A path that leads nowhere known is not inside.
            if named.path is None or not named.path.startswith("src/"):
                place = "no known place" if named.path is None else f"`{named.path}`"
                return Denial(
                    "outside-src",
                    f"`{named.argument}` leads to {place}, and only files below `src/` may be "
                    "written: write there, or say what you would change",
                )
        return None
