"""A pool is right as often as it says, though its looks are correlated: a simulation of the page that states it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from operators.recognise.objects.pool import Pool
from tests.operators.recognise.objects.looks import look

WORDS = 6
OBJECTS = 1500
RHO = 0.6
SHIFT = 2.0
"""How far the true word stands out, in standard deviations of a look's noise: a look alone is right in about .75."""


def gaussian(rng: np.random.Generator, looks: int) -> np.ndarray:
    """Evidence per look and word: true ones are shifted; a part ρ of the noise is the object's own."""
    shared = rng.normal(size=(1, WORDS)) * math.sqrt(RHO)
    own = rng.normal(size=(looks, WORDS)) * math.sqrt(1 - RHO)
    evidence = shared + own
    evidence[:, 0] += SHIFT
    return evidence


def outcome(correlation: float, looks: int, seed: int = 1) -> tuple[float, float]:
    """Mean posterior that pools state, and share of them that is right."""
    rng = np.random.default_rng(seed)
    stated, right = [], []
    for _ in range(OBJECTS):
        pool = Pool(WORDS, correlation)
        for row in gaussian(rng, looks):
            weights = np.exp(SHIFT * row)  # the likelihood ratio of this noise: calibrated, look by look
            best = int(row.argmax())
            pool.add(look(str(best), float(weights[best] / weights.sum())))
        belief = pool.belief()
        stated.append(belief.posterior)
        right.append(belief.said.label == "0")
    return float(np.mean(stated)), float(np.mean(right))


@pytest.mark.parametrize("looks", [1, 2, 3, 4, 8])
def test_the_posterior_is_right_as_often_as_it_says(looks: int) -> None:
    stated, right = outcome(RHO, looks)
    assert stated == pytest.approx(right, abs=0.05)


def test_without_tempering_it_would_claim_too_much() -> None:
    stated, right = outcome(0.0, 4)
    assert stated > right + 0.07
