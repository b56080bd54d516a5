"""Looks that ran through a cut network to its end: what exits can read of them, and what the end said. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cache_adapt.learned.heard import HeardLooks
    from cache_adapt.learned.pooled import ShownLooks
    from cache_adapt.learned.rows import ExitRows

KEPT = 2400
"""Looks whose answers are kept: the newest."""


@dataclass(frozen=True)
class TappedLooks:
    """N looks of one stream, oldest first."""

    stream: str
    media_time_s: float
    """That of the newest."""
    rows: ExitRows
    """A weight is of so many looks each is a fair sample."""
    drawn: NDArray[np.bool_]
    """N: whether all looks at the object run on. Such objects are a fair sample of all, and nothing is missing."""
    shown: ShownLooks


def joined(looks: Sequence[TappedLooks]) -> TappedLooks:
    """Looks of several frames of one stream, one after the other."""
    if len(looks) == 1:
        return looks[0]
    first, last = looks[0], looks[-1]
    rows, shown = first.rows.joined([few.rows for few in looks]), first.shown.joined([few.shown for few in looks])
    return TappedLooks(first.stream, last.media_time_s, rows, np.concatenate([few.drawn for few in looks]), shown)


class AnswersHeard:
    """The newest looks of which one set of exits was heard."""

    def __init__(self) -> None:
        self._looks: deque[HeardLooks] = deque()
        self._kept = self.taken = 0

    def add(self, looks: HeardLooks) -> None:
        self._looks.append(looks)
        self._kept += len(looks.words)
        self.taken += len(looks.words)
        while self._kept - len(self._looks[0].words) >= KEPT:
            self._kept -= len(self._looks.popleft().words)

    @property
    def now(self) -> HeardLooks:
        """Those that are kept at present, oldest first; there are some."""
        return self._looks[0].joined(self._looks).at(slice(-KEPT, None))
