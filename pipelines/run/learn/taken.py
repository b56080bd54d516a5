"""The looks that were made at the objects of one node, each to the end of its network: what exits learn from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.pooled import PoolRule, ShownLooks
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.vocabulary import Shares, Vocabulary
from serving.common.tensors import Array
from serving.engines.exits import ExitResult

MOST_LOOKS = 6000
"""Looks that are kept, spread evenly over the recording."""

T = TypeVar("T")


class Thinned(Generic[T]):
    """At most so many things of a sequence, spread evenly over it.

    >>> kept = Thinned[int](4)
    >>> for number in range(10):
    ...     kept.add(number)
    >>> kept.things
    [0, 4, 8]
    """

    def __init__(self, most: int) -> None:
        """``most``: an even number."""
        self.things: list[T] = []
        self._most, self._every = most, 1
        self.seen = 0
        """How long the sequence is so far."""

    def add(self, thing: T) -> None:
        if self.seen % self._every == 0:
            if len(self.things) == self._most:
                self.things, self._every = self.things[::2], 2 * self._every
            if self.seen % self._every == 0:
                self.things.append(thing)
        self.seen += 1


class TakenLook(NamedTuple):
    taps: Sequence[NDArray[np.float16]]
    """By cut."""
    shares: NDArray[np.float32]
    """L: the end's probabilities."""
    shown: ShownLooks
    """The object."""


class TakenLooks:
    """Collects the looks of a node."""

    def __init__(self, vocabulary: Vocabulary, rule: PoolRule | None = None) -> None:
        """``rule``: how the looks at one object are pooled; None: each is answered by itself."""
        self._vocabulary, self.rule = vocabulary, rule
        self._looks = Thinned[TakenLook](MOST_LOOKS)
        self.item: Array | None = None
        """One of the pictures, as the network takes them (1 × …); None before the first look."""

    def add(self, batch: Array, found: ExitResult, shares: Shares, shown: ShownLooks) -> None:
        taps = [tap.astype(np.float16) for tap in found.taps]
        for row in range(len(batch)):
            look = TakenLook([tap[row] for tap in taps], shares[row], shown.at(slice(row, row + 1)))
            self._looks.add(look)
        if self.item is None and len(batch):
            self.item = batch[:1].copy()

    @property
    def seen(self) -> int:
        """Looks that were made; not all are kept."""
        return self._looks.seen

    @property
    def rows(self) -> ExitRows:
        """The looks that are kept; there must be one."""
        looks = self._looks.things
        shares = np.stack([each.shares for each in looks])
        taps = [np.stack(column) for column in zip(*(each.taps for each in looks), strict=True)]
        shown = ShownLooks.joined([each.shown for each in looks])
        weights = np.ones(len(looks), np.float32)
        return ExitRows(taps, shares, self._vocabulary.of(shares), weights, shown=shown)
