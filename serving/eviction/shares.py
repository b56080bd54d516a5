"""Forecasts which share of the next requests each model will get, without assuming how popularity behaves.

A model's count c decays: a request one half-life h ago counts one half. A small h follows drifts, a large one is
less noisy. Where models are many and requests few, a model is also judged by its like, those that load as slowly: m is
their mean count, so it is learnt whether costly models are the popular or the unpopular ones. With S the sum of all
counts and trust α in the like (a Gamma prior of shape α and mean m), one expert's share is

    p(model) = m · (c + α) / ((m + α) · S)

Which h and α are right differs between workloads and is measured: every request is first predicted by each pair of
them, and each weighs by the likelihood of what it predicted, with forgetting (Bayesian model averaging; Raftery,
Kárný and Ettler, 2010).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

FIRST_ROWS = 64
HALF_LIFE_S = np.array([120.0, 900.0, 7200.0])
TRUST = np.array([1.0, 4.0, 16.0])
MEMORY = 0.999
"""Factor on the experts' record at every request: it rests on about the last thousand."""
LEAST_WEIGHT = 0.01
"""Experts below it are not asked."""
GROUPS = 64
"""One group of like models per doubling of the load time, from 2⁻³² to 2³² s."""
LARGEST_UNIT = 1e100
LEAST_TOTAL = 1e-9
"""Before the first request all models are expected alike."""
MOST_HALVINGS = 300.0
"""Older counts are nothing; keeps the unit finite over any silence."""


class Shares:
    """Decayed counts of requests per model (a row each) and group, and the record of the experts."""

    def __init__(self) -> None:
        # Counts never decay: what a new request counts grows instead, per half-life.
        self._unit = np.ones(len(HALF_LIFE_S))
        self._now_s = 0.0
        self._counts = np.zeros((len(HALF_LIFE_S), FIRST_ROWS))
        self._total = np.full(len(HALF_LIFE_S), LEAST_TOTAL)
        self._group = np.full(FIRST_ROWS, -1)
        self._group_counts = np.zeros((len(HALF_LIFE_S), GROUPS))
        self._group_models = np.zeros(GROUPS)
        self._log_weights = np.zeros((len(HALF_LIFE_S), len(TRUST)))

    def observe(self, row: int, now_s: float) -> None:
        """Take in a request: judge the experts by it, then count it."""
        self._advance(now_s)
        group = self._group[row]
        if group >= 0:
            self._judge(row, group)
            self._group_counts[:, group] += self._unit
        self._counts[:, row] += self._unit
        self._total += self._unit

    def join(self, row: int, load_s: float) -> None:
        """A model was loaded: from its first time on it belongs to the models that load as slowly."""
        if self._group[row] >= 0:
            return
        group = int(np.clip(np.log2(max(load_s, 1e-9)) + GROUPS // 2, 0, GROUPS - 1))
        self._group[row] = group
        self._group_counts[:, group] += self._counts[:, row]
        self._group_models[group] += 1

    def of(self, rows: Rows) -> Floats:
        """The forecast shares of these models, all of which have joined."""
        weights = self._weights()
        means, groups = self._means(), self._group[rows]
        shares = np.zeros(len(rows))
        for half, trust in np.argwhere(weights >= LEAST_WEIGHT):
            prior = TRUST[trust] * self._unit[half]
            expert = share(self._counts[half, rows], means[half, groups], prior, self._total[half])
            shares += weights[half, trust] * expert
        return shares

    def grow(self) -> None:
        """Double the number of rows."""
        self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        self._group = np.concatenate([self._group, np.full_like(self._group, -1)])

    def _advance(self, now_s: float) -> None:
        halvings = np.minimum((now_s - self._now_s) / HALF_LIFE_S, MOST_HALVINGS)
        self._unit *= np.exp2(np.maximum(halvings, 0.0))
        self._now_s = now_s
        if self._unit.max() > LARGEST_UNIT:
            self._rescale()

    def _rescale(self) -> None:
        for counts in (self._counts.T, self._group_counts.T, self._total):
            counts /= self._unit
        self._unit[:] = 1.0

    def _judge(self, row: int, group: int) -> None:
        prior = TRUST * self._unit[:, None]
        mean = self._means()[:, group, None]
        predicted = share(self._counts[:, row, None], mean, prior, self._total[:, None])
        self._log_weights = MEMORY * self._log_weights + np.log(predicted)

    def _weights(self) -> Floats:
        likelihoods = np.exp(self._log_weights - self._log_weights.max())
        weights: Floats = likelihoods / likelihoods.sum()
        return weights

    def _means(self) -> Floats:
        """Mean count of the models in each group, half-lives × groups; one model more, average of all, steadies it."""
        average = self._total / max(self._group_models.sum(), 1.0)
        means: Floats = (self._group_counts + average[:, None]) / (self._group_models + 1.0)
        return means


def share(count: Floats, mean: Floats, prior: Floats, total: Floats) -> Floats:
    """p = m · (c + α) / ((m + α) · S), all in the same unit."""
    expected: Floats = mean * (count + prior) / ((mean + prior) * total)
    return expected
