"""Measures how well heads of a template do, by the number n of dominant classes, for eq. 5.1 (Shen, 2019, §5.3.2).

For a few n, some sets D of n classes are drawn; for each a head is trained and validated on rows that it was not
trained on; the mean over the draws stands for all heads of this size, and in between it is interpolated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.random import Generator

from learning.confidence_threshold import HeldOutAnswers, least_confidence
from specialization.heads.enough import LEAST_OTHERS, LEAST_ROWS
from specialization.heads.train import HeadSamples, TooFewSamples, one_thread, training_rows, validate
from specialization.rates import NEVER, MeasuredRates, Rates, rates

DRAWS = 10
LADDER = (1, 2, 3, 5, 8, 10, 15, 20)
TOLERANCES = (0.005, 0.01, 0.015, 0.025, 0.05)
TRAINING_SKEW = 0.6

Done = Callable[[float], None]
"""Called with the share that is done, 0 … 1."""


def profile(
    samples: HeadSamples,
    rng: Generator,
    *,
    draws: int = DRAWS,
    training_skew: float = TRAINING_SKEW,
    done: Done = lambda share: None,
) -> tuple[MeasuredRates, ...]:
    """Rates by tolerance and n; raises TooFewSamples where no n is possible."""
    labels = samples.labels
    known, counts = np.unique(labels, return_counts=True)
    possible = known[counts >= LEAST_ROWS]
    sets = {
        n: [each for each in drawn(possible.tolist(), n, draws, rng) if (~np.isin(labels, each)).sum() >= LEAST_OTHERS]
        for n in ladder(len(known), len(possible))
    }
    sets = {n: each for n, each in sets.items() if each}
    if not sets:
        raise TooFewSamples(f"{len(labels)} samples of {len(known)} classes are too few to judge heads")
    found: dict[int, list[Mapping[float, Rates]]] = {n: [] for n in sets}
    with one_thread():
        for n, each in sets.items():
            for classes in each:
                held = validate(training_rows(samples, classes, training_skew, rng))
                found[n].append({tolerance: _rates(held, tolerance) for tolerance in TOLERANCES})
                done(sum(map(len, found.values())) / sum(map(len, sets.values())))
    return tuple(
        MeasuredRates(tolerance, {n: mean([each[tolerance] for each in of_n]) for n, of_n in found.items()})
        for tolerance in TOLERANCES
    )


def ladder(known: int, possible: int) -> list[int]:
    """Numbers n of dominant classes to try, of so many known classes, of which so many have samples enough."""
    most = min(known - 1, possible, LADDER[-1])
    return sorted({n for n in LADDER if n <= most} | ({most} if most > 0 else set()))


def drawn(classes: Sequence[int], n: int, draws: int, rng: Generator) -> list[tuple[int, ...]]:
    """Different sets of n classes, all there are where these are no more than wanted."""
    if comb(len(classes), n) <= draws:
        return list(combinations(classes, n))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < draws:
        found[tuple(sorted(rng.choice(classes, n, replace=False).tolist()))] = None
    return list(islice(found, draws))


def mean(of: Sequence[Rates]) -> Rates:
    return Rates(*(float(each) for each in np.mean([(r.a_in, r.e_in_out, r.a_out) for r in of], axis=0)))


def _rates(held: HeldOutAnswers, tolerance: float) -> Rates:
    threshold = least_confidence(held, tolerance)
    return NEVER[1] if threshold is None else rates(held, threshold)
