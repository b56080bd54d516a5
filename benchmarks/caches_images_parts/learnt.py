"""Exits as ``sluice learn`` makes them, at two cuts at most, beside caches that are explored and composed."""

from __future__ import annotations

import numpy as np

from benchmarks.caches_images_parts.ways import Base
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitCut
from pipelines.run.learn.choice import LearningNetwork, NothingLearnt, learnt
from pipelines.run.learn.costs import NetworkCosts, lookup_s

LOWER = (0.12, 0.1, 0.08, 0.06, 0.04, 0.02, 0.0)
"""By so much the agreement among answers may be below the one among all images; tried one after the other."""


def learnt_exits(base: Base, target: float) -> ExitArtefact | None:
    """The first that keep the target, a share of all images, by an upper bound; None where none do, or none pay."""
    first = base.cuts[0].lessons
    shares, words = first.shares, first.words
    cuts = [ExitCut(cut.tensor, cut.lessons.grid, min(cut.until_s / base.whole_s, 1.0)) for cut in base.cuts]
    costs = NetworkCosts(base.whole_s, [cut.until_s for cut in base.cuts], base.cuts[0].overhead_s)
    network = LearningNetwork(base.case.name, "0" * 64, cuts, first.vocabulary, costs)
    objects = [str(number) for number in range(len(words))]
    taps, weights = [cut.lessons.features for cut in base.cuts], np.ones(len(words), np.float32)
    rows = ExitRows(taps, shares, words, weights, shown=ShownLooks.of(objects)).kept()
    for lower in LOWER:
        try:
            found = learnt(network, rows, target - lower, lookup_s)
        except NothingLearnt:
            return None
        if found.wrong.most * found.tuned.answered <= 1 - target:
            return found.artefact
    return None
