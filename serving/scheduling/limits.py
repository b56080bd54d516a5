"""How long a network may take, how much networks may take together, and how long something has taken: told the time."""

from __future__ import annotations

from dataclasses import dataclass, field

from serving.common.threads import usable_cores

LOAD_FACTOR = 3.0
"""Opening a network may take so many times as long as a batch: a runtime optimises it, and its first run is slow."""
BATCH_S = 60.0
"""A batch may take so long, where nothing else is said."""
LOOKS = 20
"""So many looks are taken within the time allowed, but at least one each second."""


class Stopwatch:
    """Looks at one thing after the other and says how long it has been there.

    Only time in which this process ran is counted: between two looks never more than twice the time that there should
    have been. A process that was frozen for an hour wakes up with a network that has taken no time meanwhile.
    """

    def __init__(self, limit_s: float) -> None:
        self.look_every_s = min(1.0, limit_s / LOOKS)
        self._thing: object = None
        self._taken_s = self._last = 0.0

    def taken_s(self, thing: object, now: float) -> float:
        """Seconds since the thing was first looked at; None takes no time."""
        is_same = thing is not None and thing is self._thing
        self._taken_s = self._taken_s + min(now - self._last, 2 * self.look_every_s) if is_same else 0.0
        self._thing, self._last = thing, now
        return self._taken_s


@dataclass(frozen=True, slots=True)
class NetworkBounds:
    """Memory and time, and how much may run at once."""

    memory_bytes: int | None = None
    """The most memory of all loaded networks together; None: no bound."""
    threads: int = field(default_factory=usable_cores)
    """Cores that one network may use."""
    max_batch: int | None = None
    """The most items of one batch; None: as many as pay on the device."""
    batch_s: float = BATCH_S
    """A batch may take so long."""

    @property
    def load_s(self) -> float:
        """For opening a network and running it for the first time."""
        return self.batch_s * LOAD_FACTOR
