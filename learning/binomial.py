"""Tails of the binomial distribution, by adding up terms. Pure.

``scipy.special`` has them, but takes longer to import than a run needs for its first frames.
"""

from __future__ import annotations

import math

NEGLIGIBLE = 1e-17
"""Terms below this share of the sum do not change it."""


def at_least(successes: int, trials: int, probability: float) -> float:
    """P[Binomial(trials, probability) ≥ successes]."""
    if successes <= 0:
        return 1.0
    if successes > trials or probability <= 0.0:
        return 0.0
    if probability >= 1.0:
        return 1.0
    if successes > trials * probability:
        return _falling(successes, trials, probability)
    return 1.0 - _falling(trials - successes + 1, trials, 1.0 - probability)


def _falling(successes: int, trials: int, probability: float) -> float:
    """The same from the mean on, where each term is smaller than the one before."""
    odds = probability / (1.0 - probability)
    term = total = math.exp(_log_term(successes, trials, probability))
    while successes < trials and term > NEGLIGIBLE * total:
        term *= odds * (trials - successes) / (successes + 1)
        successes += 1
        total += term
    return min(total, 1.0)


def _log_term(successes: int, trials: int, probability: float) -> float:
    ways = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return ways + successes * math.log(probability) + (trials - successes) * math.log1p(-probability)
