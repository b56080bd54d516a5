"""Thresholds of caches from what predictors said of inputs that they had not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.caches_parts.certified import Certified, Constraint, certified
from benchmarks.caches_parts.held import HeldOutPredictions
from cache_adapt.exits.record import Record


class Operating(NamedTuple):
    """One cache by itself, at a certain agreement."""

    agreement: float
    """The wanted share of all inputs."""
    hit_rate: float
    accuracy: float
    """Share of its hits that are right."""


def calibrated(
    scores: Sequence[NDArray[np.float32]],
    right: Sequence[NDArray[np.bool_]],
    latency: Sequence[float],
    constraint: Constraint,
) -> tuple[list[float], Certified]:
    """Thresholds on the error scores of caches that are asked one after the other, and what they do.

    ``latency``: of an input that leaves at each cache, then of one that leaves at none. Tuning takes the ranks of the
    scores: most scores lie close to 0, where steps on the scores themselves are too coarse for an agreement of .99.
    """
    ordered = [np.sort(each) for each in scores]
    count = max(len(ordered[0]), 1)
    ranks = np.stack([np.searchsorted(line, each) / count for line, each in zip(ordered, scores, strict=True)])
    found = certified(Record.of(ranks, np.stack(right), latency), constraint)
    return [_value(line, share) for line, share in zip(ordered, found.thresholds.tolist(), strict=True)], found


def best_score(held: HeldOutPredictions, constraint: Constraint) -> tuple[bool, Operating]:
    """Whether selectors or the largest probability answer more within the constraint, and how much."""
    found = {rival: operating(held, rival, constraint) for rival in (False, True)}
    best = max(found, key=lambda rival: found[rival].hit_rate)  # the simpler one where they are equal
    return best, found[best]


def operating(held: HeldOutPredictions, selector: bool, constraint: Constraint) -> Operating:
    """A cache by itself: its answers, and how good they are."""
    errors = held.errors[selector]
    _, found = calibrated([errors], [held.right], [1.0, 2.0], constraint)
    answered = int(found.effect.answered.sum())
    accuracy = 1 - found.effect.wrong / answered if answered else 1.0
    return Operating(constraint.agreement, answered / max(found.inputs, 1), accuracy)


def _value(ordered: NDArray[np.float32], share: float) -> float:
    """The score below which that share lies; 0 for none, 1 for all that are sure of anything."""
    place = int(np.ceil(share * len(ordered) - 1e-9))
    if place <= 0:
        return 0.0
    return float(ordered[place]) if place < len(ordered) else 1.0
