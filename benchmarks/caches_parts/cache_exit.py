"""An exit as in the paper (Balasubramanian et al., 2021 [GATI], Figure 3): a predictor of any form, and a selector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.caches_parts.predictor import Predictor
from benchmarks.caches_parts.selector import Selector
from cache_adapt.learned.learned_exit import LearnedExit, SoftMap, Values
from cache_adapt.learned.vocabulary import Shares, Vocabulary


@dataclass(frozen=True, kw_only=True)
class CacheExit(LearnedExit):
    """Its ``layer`` is the predictor's last."""

    predictor: Predictor
    selector: Selector | None = None
    """None: the predictor's largest probability decides."""

    @classmethod
    def of(
        cls,
        tensor: str,
        vocabulary: Vocabulary,
        seen: tuple[int, ...],
        predictor: Predictor,
        soft: SoftMap,
        selector: Selector | None = None,
    ) -> CacheExit:
        return cls(
            tensor=tensor,
            grid=predictor.grid,
            vocabulary=vocabulary,
            seen=seen,
            layer=predictor.output,
            soft=soft,
            predictor=predictor,
            selector=selector,
        )

    def probabilities(self, features: Values) -> Shares:
        return self.predictor.probabilities(features)

    def errors(self, predicted: Shares) -> NDArray[np.float32]:
        return super().errors(predicted) if self.selector is None else self.selector.errors(predicted)

    @property
    def memory_bytes(self) -> int:
        soft = sum(part.nbytes for part in self.soft.layer)
        return self.predictor.memory_bytes + soft + (self.selector.memory_bytes if self.selector else 0)
