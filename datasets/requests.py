"""Requests for many models at an edge server, generated as the paper derives them from the Azure Functions trace.

Ogden, Gilman, Walls and Guo, "Many Models at the Edge", 2021, §VI-A. Numbers of calls per function and minute are drawn
instead of read: Poisson counts at log-normal rates, heavy-tailed like the trace's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

MINUTE_S = 60.0
POPULAR_QUANTILE = 0.9
"""Functions above are left out: such models have hardware of their own."""
RATE_SIGMA = 1.6
"""Standard deviation of a function's log rate."""

Correlation = Literal["quantiles", "uniform", "quantiles-r"]
CORRELATIONS: tuple[Correlation, ...] = get_args(Correlation)
Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Trace:
    """Requests in the order of their arrival; models are numbered from 0 in no particular order."""

    models: Numbers
    """The model of every request."""
    times_s: NDArray[np.float64]
    """When it arrives."""

    @property
    def counts(self) -> Numbers:
        """Requests for every model, at least two."""
        return np.bincount(self.models)


def generate(
    rng: np.random.Generator,
    *,
    functions: int = 4200,
    minutes: int = 60,
    requests_per_minute: float = 280.0,
    drift: float = 0.0,
) -> Trace:
    """A trace of about 2 400 models; ``drift`` is the share of functions that swap their rates every minute.

    ``requests_per_minute`` is expected of the functions that are neither too popular nor one-hit wonders, nearly.
    """
    rates = _rates(rng, functions, requests_per_minute)
    counts = np.empty((minutes, functions), np.intp)
    for minute in range(minutes):
        counts[minute] = rng.poisson(rates)
        _swap(rng, rates, drift)
    return _spread(rng, counts[:, _kept(counts.sum(axis=0))])


def associate(rng: np.random.Generator, counts: Numbers, load_s: NDArray[np.float64], how: Correlation) -> Numbers:
    """Assign a measured network to each model, by how often the model is requested and how long the network loads.

    ``uniform`` draws them; ``quantiles`` gives the most popular models the network that loads slowest, and so on down;
    ``quantiles-r`` the other way round.
    """
    if how == "uniform":
        return rng.integers(len(load_s), size=len(counts))
    slowest_first = np.argsort(-load_s, kind="stable")
    rank = np.empty(len(counts), np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    quantile = rank * len(load_s) // len(counts)
    networks: Numbers = (slowest_first if how == "quantiles" else slowest_first[::-1])[quantile]
    return networks


def _rates(rng: np.random.Generator, functions: int, requests_per_minute: float) -> NDArray[np.float64]:
    rates = rng.lognormal(sigma=RATE_SIGMA, size=functions)
    usual = rates[rates <= np.quantile(rates, POPULAR_QUANTILE)]
    scaled: NDArray[np.float64] = rates * (requests_per_minute / usual.sum())
    return scaled


def _swap(rng: np.random.Generator, rates: NDArray[np.float64], share: float) -> None:
    chosen = rng.permutation(len(rates))[: round(share * len(rates))]
    rates[chosen] = rates[rng.permutation(chosen)]


def _kept(totals: Numbers) -> NDArray[np.bool_]:
    """Neither called but once nor above the 90th percentile of the functions that are called."""
    kept: NDArray[np.bool_] = (totals > 1) & (totals <= np.quantile(totals[totals > 0], POPULAR_QUANTILE))
    return kept


def _spread(rng: np.random.Generator, counts: Numbers) -> Trace:
    """The calls of a minute in random order, at equal distances."""
    models, times_s = [], []
    for minute, calls in enumerate(counts):
        models.append(rng.permutation(np.repeat(np.arange(counts.shape[1]), calls)))
        times_s.append(MINUTE_S * (minute + np.arange(calls.sum()) / max(calls.sum(), 1)))
    return Trace(np.concatenate(models), np.concatenate(times_s))
