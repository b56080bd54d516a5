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
TRUST = np.array([0.5, 2.0, 8.0, 32.0])
MEMORY = 0.999
"""Factor on the experts' record at every request: it rests on about the last thousand."""
GROUPS = 64
"""One group of like models per doubling of the load time, from 2⁻³² to 2³² s."""
LEAST_TOTAL = 1e-9
"""Before the first request all models are expected alike."""
LARGEST_UNIT = 1e100
LONGEST_S = 36_000.0
"""A longer silence counts as one of this length; keeps the unit finite."""


class RequestShares:
    """Decayed counts of requests per model (a row each) and group, and the record of the experts."""

    def __init__(self) -> None:
        halves = len(HALF_LIFE_S)
        # Counts never decay: what a new request counts grows instead, per half-life.
        self._unit = np.ones(halves)
        self._now_s = 0.0
        self._counts = np.zeros((FIRST_ROWS, halves))
        self._total = np.full(halves, LEAST_TOTAL)
        self._group = np.full(FIRST_ROWS, -1)
        self._group_counts = np.zeros((GROUPS, halves))
        self._group_models = np.zeros((GROUPS, 1))
        self._models = 0
        self._log_weights = np.zeros((halves, len(TRUST)))

    def observe(self, row: int, now_s: float) -> None:
        """Take in a request: judge the experts by it, then count it."""
        self._advance(now_s)
        group = self._group[row]
        if group >= 0:
            self._judge(row, group)
            self._group_counts[group] += self._unit
        self._counts[row] += self._unit
        self._total += self._unit

    def join(self, row: int, load_s: float) -> None:
        """A model was loaded: from its first time on it belongs to the models that load as slowly."""
        if self._group[row] >= 0:
            return
        group = int(np.clip(np.log2(max(load_s, 1e-9)) + GROUPS // 2, 0, GROUPS - 1))
        self._group[row] = group
        self._group_counts[group] += self._counts[row]
        self._group_models[group] += 1
        self._models += 1

    def of(self, rows: Rows) -> Floats:
        """The forecast shares of these models, all of which have joined."""
        # Linear in the count, so that experts are added up per group and not per model.
        mean = self._means(slice(None))[:, :, None]
        weighted = self._weights() * share_per_count(mean, self._prior(), self._total[:, None])
        per_count, constant = weighted.sum(axis=2), (weighted * self._prior()).sum(axis=(1, 2))
        groups = self._group[rows]
        counts, slopes = self._counts.take(rows, axis=0), per_count.take(groups, axis=0)
        shares: Floats = np.einsum("rh,rh->r", counts, slopes) + constant[groups]
        return shares

    def grow(self) -> None:
        """Double the number of rows."""
        self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._group = np.concatenate([self._group, np.full_like(self._group, -1)])

    def _advance(self, now_s: float) -> None:
        passed_s = min(max(now_s - self._now_s, 0.0), LONGEST_S)
        self._now_s = now_s
        self._unit *= np.exp2(passed_s / HALF_LIFE_S)
        if self._unit[0] > LARGEST_UNIT:
            for counts in (self._counts, self._group_counts, self._total):
                counts /= self._unit
            self._unit[:] = 1.0

    def _judge(self, row: int, group: int) -> None:
        prior = self._prior()
        slope = share_per_count(self._means(group)[:, None], prior, self._total[:, None])
        self._log_weights *= MEMORY
        self._log_weights += np.log(slope * (self._counts[row, :, None] + prior))

    def _prior(self) -> Floats:
        """α in the unit of the counts, half-lives × trusts."""
        prior: Floats = self._unit[:, None] * TRUST
        return prior

    def _weights(self) -> Floats:
        likelihoods = np.exp(self._log_weights - self._log_weights.max())
        weights: Floats = likelihoods / likelihoods.sum()
        return weights

    def _means(self, groups: int | slice) -> Floats:
        """Mean counts of the models of each group; one model more, the average of all, steadies them."""
        average = self._total / max(self._models, 1)
        means: Floats = (self._group_counts[groups] + average) / (self._group_models[groups] + 1.0)
        return means


def share_per_count(mean: Floats, prior: Floats, total: Floats) -> Floats:
    """p / (c + α) = m / ((m + α) · S), all in the same unit."""
    slope: Floats = mean / ((mean + prior) * total)
    return slope
