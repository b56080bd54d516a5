"""Looks that ran through a cut network to its end: what exits can read of them, and what the end said. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cache_adapt.learned.pooled import ShownLooks
    from cache_adapt.learned.rows import ExitRows


@dataclass(frozen=True)
class TappedLooks:
    """N looks of one stream, oldest first."""

    stream: str
    media_time_s: float
    """That of the newest."""
    rows: ExitRows
    """In folds. A weight is of so many looks each is a fair sample."""
    whole: NDArray[np.bool_]
    """N: whether all looks at the object run on. Such objects are a fair sample of all, and nothing is missing."""
    shown: ShownLooks

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, which: NDArray[np.bool_]) -> TappedLooks:
        """Some of them."""
        rows, shown = self.rows.of(which), self.shown.at(np.flatnonzero(which))
        return replace(self, rows=rows, whole=self.whole[which], shown=shown)


def joined(looks: Sequence[TappedLooks]) -> TappedLooks:
    """Looks of several frames of one stream, one after the other."""
    if len(looks) == 1:
        return looks[0]
    first, last = looks[0], looks[-1]
    rows, shown = first.rows.joined([few.rows for few in looks]), first.shown.joined([few.shown for few in looks])
    return TappedLooks(first.stream, last.media_time_s, rows, np.concatenate([few.whole for few in looks]), shown)
