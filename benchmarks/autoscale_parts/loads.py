"""Requests over time: the three loads of §6.2, and one for §6.1 in place of a trace that we do not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, pi
from typing import NamedTuple

import numpy as np

from benchmarks.autoscale_parts.profiles import ARCHITECTURES

STEP_S = 0.1
REQUESTS = 113_420
"""As many as in §6.1."""
TRACE_S = 450.0


class Arrival(NamedTuple):
    """One request."""

    at_s: float
    application: str


def low(_at_s: float) -> float:
    """Requests a second: 4."""
    return 4.0


def high(at_s: float) -> float:
    """From 650 to 700 in 200 s."""
    return 650 + 50 * min(at_s / 200, 1.0)


def fluctuating(at_s: float) -> float:
    """4, and 80 in the seconds 60 to 90 and 150 to 180, rising and falling for ten seconds."""
    inside = max(_plateau(at_s, 60, 90), _plateau(at_s, 150, 180))
    return 4 + 76 * inside


def _plateau(at_s: float, start_s: float, end_s: float) -> float:
    return max(0.0, min(1.0, (at_s - start_s) / 10 + 1, (end_s - at_s) / 10 + 1))


def poisson(rate: Callable[[float], float], seconds: float, seed: int, application: str) -> list[Arrival]:
    """Requests of a rate that changes."""
    rng = np.random.default_rng(seed)
    times = [
        start + float(offset)
        for start in np.arange(0, seconds, STEP_S).tolist()
        for offset in rng.uniform(0, STEP_S, rng.poisson(rate(start) * STEP_S))
    ]
    return [Arrival(at_s, application) for at_s in sorted(times)]


def production(seed: int, share: float = 1.0) -> list[Arrival]:
    """A day in 450 s, from 10 to 1,000 a second with unexpected spikes; models as popular as Zipf says.

    ``share``: only the first part of it.
    """
    rng = np.random.default_rng(seed)
    spikes = [
        (float(at), float(height)) for at, height in zip(rng.uniform(60, 420, 6), rng.uniform(0.2, 0.8, 6), strict=True)
    ]
    shape = np.array([_day(each, spikes) for each in np.arange(0, TRACE_S, STEP_S)])
    shape = (shape - shape.min()) / (shape.max() - shape.min())
    power = _power(shape)
    rates = 10 + 990 * shape**power

    def rate(at_s: float) -> float:
        return float(rates[min(int(at_s / STEP_S), len(rates) - 1)])

    times = poisson(rate, TRACE_S * share, seed, "")
    popularity = _popularity()
    names = rng.choice(list(popularity), size=len(times), p=list(popularity.values()))
    return [Arrival(each.at_s, str(name)) for each, name in zip(times, names, strict=True)]


def _day(at_s: float, spikes: Sequence[tuple[float, float]]) -> float:
    base = 0.5 - 0.5 * cos(2 * pi * at_s / TRACE_S)
    return base + sum(height * max(0.0, 1 - abs(at_s - at) / 8) for at, height in spikes)


def _power(shape: np.ndarray) -> float:
    """Bends the shape until so many requests come in all as in §6.1."""
    powers = np.linspace(0.2, 4, 400)
    totals = [float((10 + 990 * shape**each).sum() * STEP_S) for each in powers]
    return float(powers[int(np.argmin(np.abs(np.array(totals) - REQUESTS)))])


def _popularity() -> dict[str, float]:
    """Four models have 80 % of the load, and the ranks within both groups are Zipf's."""
    found: dict[str, float] = {}
    for popular, share in ((True, 0.8), (False, 0.2)):
        names = [each.name for each in ARCHITECTURES if each.popular is popular]
        weights = [1 / rank for rank in range(1, len(names) + 1)]
        found |= {name: share * weight / sum(weights) for name, weight in zip(names, weights, strict=True)}
    return found
