"""The decoder of a provider with a wire of its own: the contract asks for one, and nobody calls it.

A resource is looked for in a module of its interface's name.
"""

from told import told


class Decoder:
    """Reads one reply."""

    def __init__(self, name, streaming):
        pass

    @told
    def push(self, event):
        """What an event adds."""
        return []

    @told
    def finish(self):
        """What is left at the end."""
        return []
