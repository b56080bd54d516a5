"""How far a partition has been dealt with, where messages are finished in any order. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Place = TypeVar("Place", bound=Hashable)


class Offsets(Generic[Place]):
    """Messages that were taken and are not done yet, by partition.

    >>> offsets = Offsets[str]()
    >>> offsets.take("a", 7), offsets.take("a", 8), offsets.done("a", 8)
    (None, None, None)
    >>> offsets.next()
    {'a': 7}
    >>> offsets.done("a", 7)
    >>> offsets.next()
    {'a': 9}
    """

    def __init__(self) -> None:
        self._open: dict[Place, set[int]] = {}
        self._behind: dict[Place, int] = {}

    def take(self, place: Place, offset: int) -> None:
        """A message is worked on; those of a partition are taken in their order."""
        self._open.setdefault(place, set()).add(offset)
        self._behind[place] = offset + 1

    def done(self, place: Place, offset: int) -> None:
        """A message was delivered or given up."""
        self._open[place].discard(offset)

    def next(self) -> dict[Place, int]:
        """Where reading would have to go on: at the first message that is not done."""
        return {place: min(self._open[place], default=behind) for place, behind in self._behind.items()}
