"""The labels of a node's oracle, and their numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence


class Labels:
    """Words are numbered in the order in which the oracle lists them."""

    def __init__(self, words: Sequence[str], nameless: Collection[str] = ()) -> None:
        """``nameless``: words that name no class, as "other" and "unknown"."""
        self.words, self.nameless = tuple(words), frozenset(nameless)
        self.digest = hashlib.sha256("\0".join(words).encode()).hexdigest()
        self._numbers = {word: number for number, word in enumerate(words)}

    def number(self, word: str) -> int | None:
        """The number of a word; None for one that the oracle does not know."""
        return self._numbers.get(word)

    def named(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """The words of these numbers."""
        return tuple(self.words[number] for number in numbers)
