"""The newest versions of artefacts, within a number and a number of bytes. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")


class Update(NamedTuple):
    """A version of an artefact as it is on the wire: its user has to check what is in it."""

    version: int
    data: bytes


class Updates(Generic[K]):
    """One of each key; where there is no room, the one that was put longest ago gives way.

    >>> updates = Updates[str](most=2, most_bytes=10)
    >>> for key in ("a", "b", "a", "c"):
    ...     updates.put(key, Update(1, b"1234"))
    >>> updates.get("b"), len(updates), updates.size_bytes
    (None, 2, 8)
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: OrderedDict[K, Update] = OrderedDict()
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> Update | None:
        return self._kept.get(key)

    def put(self, key: K, update: Update) -> None:
        """Keep a version in place of the one before."""
        if key in self._kept:
            self._drop(key)
        self._kept[key] = update
        self.size_bytes += len(update.data)
        while len(self._kept) > self._most or self.size_bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: K) -> None:
        self.size_bytes -= len(self._kept.pop(key).data)
