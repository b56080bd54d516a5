"""The predictor of a learned cache: pooled activations in, the network's probable answer out, by numpy alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.caches_parts.forms import Grid, Values, form
from serving.common.tensors import softmax


@dataclass(frozen=True)
class Predictor:
    """A form with its weights; standardisation is folded in."""

    name: str
    """The name of its form, such as ``FC(128)``."""
    grid: Grid
    hidden: tuple[Values, Values] | None
    """Weights (values × h) and bias (h) of the hidden layer; None where the form has none."""
    output: tuple[Values, Values]
    """Weights (pieces · h × classes) and bias (classes)."""

    @property
    def classes(self) -> int:
        return len(self.output[1])

    @property
    def memory_bytes(self) -> int:
        return sum(part.nbytes for layer in (self.hidden, self.output) if layer for part in layer)

    def probabilities(self, features: Values) -> NDArray[np.float32]:
        """N × classes that sum to 1 for N × (C·H·W) pooled activations; no numbers give zeros, which are never sure."""
        with np.errstate(invalid="ignore", over="ignore"):
            pieces = form(self.name).pieces(features.reshape(len(features), *self.grid))
            if self.hidden is not None:
                weights, bias = self.hidden
                pieces = np.maximum(pieces @ weights + bias, 0)
            weights, bias = self.output
            shares = softmax(pieces.reshape(len(pieces), -1) @ weights + bias)
        shares[~np.isfinite(shares)] = 0
        return shares
