"""The golden guard in Python: refuses writes below `protected-python/`.

A path `break-python/WORD` makes it misbehave the way WORD says, for the tests of what is told of a
guard that breaks.
"""

import json
import random
import sys
import time

from wit_world import exports
from wit_world.exports.guard import Denial
from wit_world.imports import log


def panic():
    raise ValueError("the guard was told to panic")


def logged():
    log.write(log.Level.ERROR, "the guard's last words")
    panic()


def loop():
    while True:
        pass


def memory():
    held = []
    while True:
        held.append(bytearray(1 << 20))


def recurse():
    sys.setrecursionlimit(1 << 30)

    class Endless:
        def __repr__(self):
            return repr([self])

    repr(Endless())


def leave():
    sys.exit(3)


def result():
    return 42


def data():
    return Denial("long", "long " * 500_000)


def files():
    with open("/etc/passwd") as file:
        return Denial("files", file.read())


def chance():
    return Denial("chance", f"{random.random()} at {time.time()}")


MISBEHAVE = {
    action.__name__: action
    for action in [panic, logged, loop, memory, recurse, leave, result, data, files, chance]
}


class Guard(exports.Guard):
    def earlier(self):
        return 0

    def check(self, proposal):
        folder, _, word = json.loads(proposal.call.input).get("path", "").partition("/")
        if folder == "break-python":
            return MISBEHAVE[word]()
        if folder == "protected-python":
            return Denial("protected", "nothing below `protected-python/` is written to")
        return None
