"""Exits as ``sluice learn`` makes them, from pictures that went through the network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.exit_parts.cifar import WORDS, Cifar
from benchmarks.exit_parts.taps import through
from benchmarks.weg_parts.cifar_models import LARGE
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitCut
from pipelines.measure.exit_places import exit_places
from pipelines.run.learn.choice import LearningNetwork, LearntExits, NothingLearnt, learnt
from pipelines.run.learn.costs import lookup_s, network_costs
from pipelines.run.learn.learnable import LAST, TRIED
from serving.catalogue.lookup import read_weights
from serving.common.tensors import Array, softmax


class Lessons:
    """Pictures of which exits can be learnt."""

    def __init__(self, cifar: Cifar, items: Array) -> None:
        """``items``: as the network takes them."""
        entry, cuts = cifar.entry, _cuts(cifar)
        names = [cut.tensor for cut in cuts]
        taps, scores = through(LARGE, read_weights(entry.path, entry.card), names, items)
        shares = softmax(scores)
        weights, shown = np.ones(len(items), np.float32), ShownLooks.of(_others(len(items)))
        self._rows = ExitRows(taps, shares, WORDS.of(shares), weights, shown=shown).kept()
        costs = network_costs(entry, names, items[:1])
        self._network = LearningNetwork(LARGE, entry.card.identity, cuts, WORDS, costs)

    def learnt(self, agreement: float) -> LearntExits | None:
        """Those for this agreement among their answers; None where none pay."""
        try:
            return learnt(self._network, self._rows, agreement, lookup_s)
        except NothingLearnt:
            return None


def _cuts(cifar: Cifar) -> Sequence[ExitCut]:
    return [cut for cut in exit_places(cifar.entry, TRIED) if cut.share <= LAST]


def _others(count: int) -> list[str]:
    """Each picture shows another object."""
    return [str(number) for number in range(count)]
