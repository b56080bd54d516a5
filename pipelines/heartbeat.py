"""A file whose age says whether a process is alive and makes progress: touched from where a hang would be felt.

The process calls ``beat`` from the loop that does its work; ``sluice health FILE`` looks at the file's age. Both run on
one machine (in a container: in the same container), so they share a clock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from serving.errors import BadInput

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
MAX_AGE_S = 15.0
"""A file older than this belongs to a process that hangs or has ended."""


class Heartbeat:
    """Touches a file at most once a second; without a path, nothing. Raises BadInput where it cannot be written."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._next_s = float("-inf")
        if path is not None:
            _clear(path)

    def beat(self) -> None:
        """Say that all is well; cheap enough to be called for every frame."""
        now_s = self._clock()
        if self._path is None or now_s < self._next_s:
            return
        self._next_s = now_s + INTERVAL_S
        try:
            self._path.touch()
        except OSError as error:
            # The work goes on without it; that the file grows old tells the rest.
            log.warning("cannot touch %s: %s", self._path, error.strerror)

    async def beat_while(self, healthy: Callable[[], bool]) -> None:
        """Beat for as long as the event loop turns, in seconds in which ``healthy()`` holds; ends by cancellation."""
        import asyncio  # half of what `sluice health` would spend on imports, for nothing

        while True:
            if healthy():
                self.beat()
            await asyncio.sleep(INTERVAL_S)


def ailment(path: Path, max_age_s: float, now_s: float) -> str | None:
    """Why the process behind the file does not count as healthy; None where it does. ``now_s``: since 1970."""
    try:
        age_s = now_s - path.stat().st_mtime
    except FileNotFoundError:
        return f"no heartbeat at {path} yet: the process has not begun its work"
    except OSError as error:
        return f"cannot look at {path}: {error.strerror}"
    # A time to come was written before the clock was set back: its age is unknown, and it is no sign of life.
    if abs(age_s) > max_age_s:
        return f"the last heartbeat at {path} is {age_s:.0f} s old, more than {max_age_s:g} s"
    return None


def _clear(path: Path) -> None:
    """Remove what an earlier process left, which says nothing of this one; touching it first proves that we may."""
    try:
        path.touch()
        path.unlink()
    except OSError as error:
        raise BadInput(f"--alive {path}: {error.strerror}: name a file in a directory that can be written") from None
