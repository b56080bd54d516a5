"""Numbers as samples are kept and sent: in two bytes each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float16]


def as_features(values: NDArray[Any]) -> Features:
    """Values as they are stored; what is too large for float16 becomes its largest number."""
    most = np.finfo(np.float16).max
    return np.asarray(np.clip(values, -most, most), np.float16)
