"""SIGINT and SIGTERM while a command still imports, reads its files or loads its models. Imports next to nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from types import FrameType

UNTIL_ASKED = ("run", "capture", "worker", "adapt", "forward", "watch")
"""Commands that work until a signal comes: it is no failure, even before they have begun."""


class Stopped(SystemExit):
    """A signal asked the command to end before its work began; ``code`` is the status to end with."""


def end_on_signals(arguments: Sequence[str]) -> None:
    """From now on SIGINT and SIGTERM raise ``Stopped`` in the main thread; the second one ends the process at once.

    ``SystemExit`` is what passes through every library and the event loop, and lets ``finally`` clean up.
    """
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(130)
        asked = True
        raise Stopped(status(arguments, number))

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)


def status(arguments: Sequence[str], number: int) -> int:
    """The status to end with: 0 for commands that work until they are asked to end, else what shells give a signal."""
    return 0 if any(word in UNTIL_ASKED for word in arguments[:1]) else 128 + number
