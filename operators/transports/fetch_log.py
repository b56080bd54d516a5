"""What the broker's answers say of a consumer's partitions; its thread writes, any thread may read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aiokafka.errors import for_code

from operators.transports.unreadable_log import Place, UnreadableLog

NO_ERROR, OUT_OF_RANGE, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID = 0, 1, 3, 100
GONE = {OUT_OF_RANGE, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID}
"""Errors after which a topic may be another one of the same name, or lack what was to be read."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a partition cannot be read on."""

    out_of_range: bool
    """Whether the partition lacks the offset; else there is no such topic."""
    offset: int
    """The offset that was asked for."""


class FetchLog:
    """The ``Watcher`` of one consumer."""

    def __init__(self, unreadable: UnreadableLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.unreadable = unreadable
        self.answered_s = clock()
        """When the broker last answered a fetch."""
        self.ends: dict[Place, int] = {}
        self.refusals: dict[Place, str] = {}
        """The broker's errors, where it answers every fetch with one."""
        self.lost: dict[Place, Lost] = {}
        """Partitions that are no longer what they were: deleted, made anew, or cut short."""

    def fetched(self, topic: str, partition: int, offset: int, error_code: int, end: int) -> None:
        """A partition's part of an answer."""
        place = topic, partition
        self.answered_s = self._clock()
        if error_code == NO_ERROR:
            self.ends[place] = end
            self.refusals.pop(place, None)
            return
        self.refusals[place] = for_code(error_code).__name__
        if error_code in GONE:
            self.lost[place] = Lost(error_code == OUT_OF_RANGE, offset)
