"""A file that says whether a process is alive and makes progress: written from where a hang would be felt.

The process calls ``beat`` from the loop that does its work, or ``ail`` with the reason why it makes no progress;
``sluice health FILE`` looks at the file's age and at what it says. Both run on one machine (in a container: in the same
container), so they share a clock.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path

from serving.errors import BadInput

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
SCHEMA = "sluice.alive/1"
MAX_REASON_CHARS = 1000
MAX_FILE_BYTES = 16_384
MAX_AGE_S = 15.0
"""A file older than this belongs to a process that hangs or has ended."""


class Heartbeat:
    """Touches a file at most once a second; without a path, nothing. Raises BadInput where it cannot be written.

    An empty file says that all is well. In trouble it holds the reason (``sluice.alive/1``), as long as that lasts.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._next_s = float("-inf")
        self._said = ""
        if path is not None:
            _clear(path)

    def beat(self) -> None:
        """Report that all is well; cheap enough to be called for every frame."""
        self._say("")

    def ail(self, reason: str) -> None:
        """Report what is wrong; call it every second for as long as it lasts."""
        self._say(json.dumps({"schema": SCHEMA, "reason": reason[:MAX_REASON_CHARS]}))

    def _say(self, words: str) -> None:
        now_s = self._clock()
        if self._path is None or (now_s < self._next_s and bool(words) == bool(self._said)):
            return
        self._next_s = now_s + INTERVAL_S
        try:
            if words == self._said:
                self._path.touch()
            else:
                _replace(self._path, words)
        except OSError as error:
            # The work goes on without the file, whose age shows that it is no longer written.
            log.warning("cannot write %s: %s", self._path, error.strerror)
        else:
            self._said = words


def ailment(path: Path, max_age_s: float, now_s: float) -> str | None:
    """Return why the process behind the file is unhealthy; None if it is healthy. ``now_s``: since 1970."""
    try:
        age_s = now_s - path.stat().st_mtime
        with path.open("rb") as file:
            words = file.read(MAX_FILE_BYTES)
    except FileNotFoundError:
        return f"no heartbeat at {path} yet: the process has not begun its work"
    except OSError as error:
        return f"cannot look at {path}: {error.strerror}"
    reason = _reason(words)
    # A time to come was written before the clock was set back: its age is unknown, and it is no sign of life.
    if abs(age_s) > max_age_s:
        last = f"; the process said last: {reason}" if reason else ""
        return f"the last heartbeat at {path} is {age_s:.0f} s old, more than {max_age_s:g} s{last}"
    return reason


def _reason(words: bytes) -> str | None:
    """Return the trouble that a heartbeat file reports; None if it is empty."""
    if not words:
        return None
    try:
        said = json.loads(words)
        if said["schema"] == SCHEMA and isinstance(said["reason"], str):
            return str(said["reason"])
    except (ValueError, TypeError, KeyError, RecursionError):
        pass  # not of a heartbeat's making
    return "the heartbeat file holds something else: name a file of its own with --alive"


def _replace(path: Path, words: str) -> None:
    """Write the file in one step, so that no reader sees half of it."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(words)
    new.replace(path)


def _clear(path: Path) -> None:
    """Remove what an earlier process left, which says nothing of this one; touching it first proves that we may."""
    try:
        path.touch()
        path.unlink()
    except OSError as error:
        raise BadInput(f"--alive {path}: {error.strerror}: name a file in a directory that can be written") from None
