"""Softmax of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(scores: NDArray[Any]) -> NDArray[np.float32]:
    """Probabilities from N × classes scores; each row adds up to 1, or is all NaN where a score is no number."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.float32] = powers / powers.sum(axis=1, keepdims=True)
    return shares
