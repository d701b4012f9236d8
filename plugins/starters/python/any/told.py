"""Gives an exception its words: what Python writes to standard error, nobody reads.

A component that raises ends with a trap, and a trap has no message. So every function that the host
calls goes through `told`, which writes what happened to the log and lets it go on.
"""

import functools
import traceback

from wit_world.imports import log


def told(function):
    """The same function; an exception that leaves it reaches the log first."""

    @functools.wraps(function)
    def call(*arguments):
        try:
            return function(*arguments)
        except Exception as err:
            # A fault is an answer, and no accident.
            if type(err).__name__ != "Err":
                log.write(log.Level.ERROR, traceback.format_exc())
            raise

    return call
