"""How far confidences can be trusted, and from which confidence on answers are worth giving. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

BINS = 10
COLDEST, HOTTEST = 0.1, 10.0


class Scored(NamedTuple):
    """What a network says of N items of one view."""

    logits: NDArray[np.float32]
    """N × classes."""
    targets: NDArray[np.intp]
    """N: the right classes."""


@dataclass(frozen=True)
class Answers:
    """The answers to N items."""

    said: NDArray[np.intp]
    confidence: NDArray[np.float64]
    targets: NDArray[np.intp]
    other: int
    """The class that means "none of these"."""

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each is right."""
        return np.asarray(self.said == self.targets)

    def given(self, least: float) -> NDArray[np.bool_]:
        """Which answers name something, and are at least so certain."""
        return np.asarray((self.said != self.other) & (self.confidence >= least))

    def precision(self, least: float) -> float:
        """Share of right ones among the answers given; NaN where none is."""
        given = self.given(least)
        return float(self.right[given].mean()) if given.any() else float("nan")

    def coverage(self, least: float) -> float:
        """Share of the items that have a name for which an answer is given; NaN where none has one."""
        named = self.targets != self.other
        return float(self.given(least)[named].mean()) if named.any() else float("nan")


def temperature(views: Sequence[Scored]) -> float:
    """The temperature at which the right classes are likeliest (Guo et al., 2017, 4.2); each view counts alike."""

    def loss(exponent: float) -> float:
        return float(np.mean([_loss(view, float(np.exp(exponent))) for view in views]))

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded").x))


def _loss(view: Scored, heat: float) -> float:
    rows = log_softmax(view.logits.astype(np.float64) / heat, axis=1)
    return -float(rows[np.arange(len(rows)), view.targets].mean())


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Expected calibration error over ten equal bins (Guo et al., 2017, 2), 0…1."""
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = [place == number for number in range(BINS)]
    return float(sum(abs(confidence[each].mean() - right[each].mean()) * each.mean() for each in bins if each.any()))
