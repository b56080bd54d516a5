"""The selector of a learned cache: may this prediction be used? (Balasubramanian et al., 2021 [GATI], §3.1)

It reads the predictor's class distribution through one hidden layer. Letting a wrong prediction through (a false
positive) costs agreement, holding a right one back only time, so the first weighs ``FALSE_POSITIVE`` times as much in
training. Its rival needs no training: the predictor's own largest probability. Validation decides between the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.caches_parts.forms import Values

HIDDEN = 16
FALSE_POSITIVE = 4.0


@dataclass(frozen=True)
class Selector:
    """One hidden layer and one output."""

    hidden: tuple[Values, Values]
    """Weights (classes × h) and bias (h)."""
    output: tuple[Values, Values]
    """Weights (h × 1) and bias (1)."""

    @property
    def memory_bytes(self) -> int:
        return sum(part.nbytes for layer in (self.hidden, self.output) for part in layer)

    def errors(self, distribution: Values) -> NDArray[np.float32]:
        """Error score of each of N × classes, 0…1; the surer, the lower."""
        hidden = np.maximum(distribution @ self.hidden[0] + self.hidden[1], 0)
        score = (hidden @ self.output[0] + self.output[1])[:, 0]
        found: NDArray[np.float32] = 1 / (1 + np.exp(np.clip(score, -60, 60)))
        return found


def largest(distribution: Values) -> NDArray[np.float32]:
    """The rival's error score: 1 less the largest probability."""
    found: NDArray[np.float32] = 1 - distribution.max(axis=1)
    return found
