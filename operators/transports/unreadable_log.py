"""Logs what a client was spared because nobody can read it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from operators.transports.record_sets import Unreadable

log = logging.getLogger(__name__)

LINES = 20
"""So many unreadable places are said one by one; further ones are only counted."""

Place = tuple[str, int]
"""Topic and partition."""

OnUnreadable = Callable[[str, int, Unreadable], None]
"""Hears of records that a note stands for, by topic and partition; again should they be fetched again."""


class UnreadableLog:
    """Says once of each place what cannot be read there, and counts it."""

    def __init__(self) -> None:
        self.count = 0
        """Records."""
        self._lines = 0
        self._logged: dict[Place, int] = {}

    def __call__(self, topic: str, partition: int, what: Unreadable) -> None:
        """Log unreadable records and count them, unless they were logged before and fetched again."""
        if what.offset <= self._logged.get((topic, partition), -1):
            return
        self._logged[topic, partition] = what.offset
        self.count += what.records
        self._lines += 1
        if self._lines <= LINES:
            number = "a record" if what.records == 1 else f"{what.records} records"
            log.warning(
                "topic %s partition %d offset %d: %s cannot be read and is skipped: %s%s",
                topic, partition, what.offset, number, what.reason,
                "; further ones are only counted" if self._lines == LINES else "",
            )  # fmt: skip
