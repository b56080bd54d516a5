"""Which of a few trained caches are to answer, and from what threshold on (Dai et al., 2024 [Apparate], §3.2). Pure.

The record holds what each cache said of inputs that went through the whole network after the training: inputs that no
cache was trained on, so nothing has to be held back, and what is expected of the thresholds is what comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cache_adapt.caches.calibrate import calibrated
from cache_adapt.compose.problem import WORTH
from cache_adapt.exits.certify import Constraint

SPARE = 0.6
"""Thresholds aim at so much of the wrong answers that are allowed. Caches that are hardly good enough need audits
without end to show it, and are switched off for want of proof."""


@dataclass(frozen=True, slots=True)
class CachesHeard:
    """R caches in the order of the network, and N inputs."""

    errors: NDArray[np.float32]
    """R × N error scores."""
    right: NDArray[np.bool_]
    """R × N: whether a cache's prediction is the network's answer."""


@dataclass(frozen=True, slots=True)
class Costs:
    """In seconds of one input."""

    until: Sequence[float]
    """The network up to each cache, with the cuts on the way."""
    lookup: Sequence[float]
    """Each cache."""
    through: float
    """The network with all its cuts."""
    whole: float
    """The network without cuts."""

    def leaving(self, chosen: Sequence[int]) -> list[float]:
        """The latency of an input that leaves at each of the chosen caches, then of one that leaves at none."""
        found, asked = [], 0.0
        for place in chosen:
            asked += self.lookup[place]
            found.append(self.until[place] + asked)
        return [*found, self.through + asked]


@dataclass(frozen=True, slots=True)
class TunedChoice:
    """The best choice."""

    chosen: tuple[int, ...]
    """Caches by their place among all."""
    thresholds: tuple[float, ...]
    hit_rates: tuple[float, ...]
    """Share of all inputs that each answers."""
    speedup: float
    """How many times as fast one input is, expected."""


def tuned(heard: CachesHeard, costs: Costs, agreement: float) -> TunedChoice | None:
    """The caches and thresholds that make the network fastest while this share of their answers is the network's.

    None where nothing makes it faster by ``WORTH``. Every set of caches is tried: there are a few.
    """
    best = max(_each(heard, costs, agreement), key=lambda each: each.speedup, default=None)
    return best if best is not None and 1 / best.speedup <= 1 - WORTH else None


def aim(agreement: float) -> Constraint:
    """The aim of thresholds where this share of the answers is to be right."""
    return Constraint(1 - SPARE * (1 - agreement), "answers", proven_later=True)


def tuned_at(chosen: tuple[int, ...], heard: CachesHeard, costs: Costs, constraint: Constraint) -> TunedChoice:
    """Thresholds for these caches, of which there is one at least; 0 where none is sure enough."""
    leaving = costs.leaving(chosen)
    errors, right = [heard.errors[place] for place in chosen], [heard.right[place] for place in chosen]
    thresholds, found = calibrated(errors, right, leaving, constraint)
    rates = tuple((found.effect.answered / max(heard.errors.shape[1], 1)).tolist())
    return TunedChoice(chosen, tuple(thresholds), rates, costs.whole / (leaving[-1] * (1 - found.effect.saved)))


def _each(heard: CachesHeard, costs: Costs, agreement: float) -> Iterator[TunedChoice]:
    caches = len(heard.errors)
    for count in range(1, caches + 1):
        for chosen in combinations(range(caches), count):
            yield tuned_at(chosen, heard, costs, aim(agreement))
