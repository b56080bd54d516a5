"""Numbers as samples are kept and sent: in two bytes each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float16]


def as_features(values: NDArray[Any]) -> Features:
    """Values as they are stored; what is too large for float16 becomes its largest number."""
    most = np.finfo(np.float16).max
    return np.asarray(np.clip(values, -most, most), np.float16)


def numbers(labels: Sequence[int], values: NDArray[Any]) -> Iterator[tuple[int, Features]]:
    """Samples of N × D values with their N labels, as they are stored; without those that hold what is no number."""
    whole = np.isfinite(values).all(axis=1)
    rows = zip(labels, as_features(values), whole.tolist(), strict=True)
    return ((label, row.copy()) for label, row, ok in rows if ok)  # each can be let go by itself
