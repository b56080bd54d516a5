"""Bytes by key under a bound for each and one for all: the oldest go first. Pure."""

from __future__ import annotations

from collections import OrderedDict


class BoundedStore:
    """Drops an item that is too large, and the oldest items where all together are too large."""

    def __init__(self, max_item_bytes: int, max_bytes: int, overhead_bytes: int = 200) -> None:
        """``overhead_bytes``: what an item takes beside its key and value."""
        self._max_item_bytes, self._max_bytes, self._overhead_bytes = max_item_bytes, max_bytes, overhead_bytes
        self._items: OrderedDict[str, bytes] = OrderedDict()
        self.size_bytes = 0
        self.left_out = 0
        """Number of items that were dropped."""

    def __len__(self) -> int:
        return len(self._items)

    def put(self, key: str, value: bytes) -> None:
        """Keep a value in place of the key's former one."""
        self.pop(key)
        size_bytes = self._size(key, value)
        if size_bytes > min(self._max_item_bytes, self._max_bytes):
            self.left_out += 1
            return
        while self.size_bytes + size_bytes > self._max_bytes:
            oldest, gone = self._items.popitem(last=False)
            self.size_bytes -= self._size(oldest, gone)
            self.left_out += 1
        self._items[key] = value
        self.size_bytes += size_bytes

    def pop(self, key: str) -> bytes | None:
        """Remove and return a value."""
        value = self._items.pop(key, None)
        if value is not None:
            self.size_bytes -= self._size(key, value)
        return value

    def _size(self, key: str, value: bytes) -> int:
        return len(key) + len(value) + self._overhead_bytes
