"""A learned cache: predictor and selector at a cut point (Balasubramanian et al., 2021 [GATI], Figure 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.caches.architectures import Values
from cache_adapt.caches.predictor import Predictor
from cache_adapt.caches.selector import Selector, largest


class Lookup(NamedTuple):
    """A cache's answers for N inputs."""

    distribution: NDArray[np.float32]
    """N × classes, its prediction."""
    hit: NDArray[np.bool_]
    """N: whether the prediction may be used."""


@dataclass(frozen=True)
class LearnedCache:
    """One cache."""

    tensor: str
    """The cut tensor whose activations it reads."""
    predictor: Predictor
    selector: Selector | None
    """None: the predictor's largest probability decides."""
    threshold: float
    """Predictions with a lower error score are used; 0: none are."""

    @property
    def memory_bytes(self) -> int:
        return self.predictor.memory_bytes + (self.selector.memory_bytes if self.selector else 0)

    def look(self, features: Values) -> Lookup:
        """Look N × (C·H·W) pooled activations up."""
        distribution = self.predictor.probabilities(features)
        return Lookup(distribution, self.errors(distribution) < self.threshold)

    def errors(self, distribution: Values) -> NDArray[np.float32]:
        """Error scores of N predictions, 0…1."""
        return largest(distribution) if self.selector is None else self.selector.errors(distribution)
