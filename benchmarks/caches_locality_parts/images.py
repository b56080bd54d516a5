"""What ResNet-18 makes of the CIFAR-10 test images, and what a look costs that leaves at each of its exits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from benchmarks.caches_images_parts.cases import archive, decoded
from benchmarks.exit_parts.cifar import Cifar
from benchmarks.exit_parts.recorded import Places, Recorded
from benchmarks.exit_parts.taps import cut_network
from benchmarks.harness import interleaved
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.rows import ExitRows
from serving.catalogue.lookup import read_weights
from serving.common.tensors import Array
from serving.engines.exits import ExitSet, RowPolicy
from serving.engines.groups import GroupRequest

TIMED = 60


@dataclass(frozen=True)
class Images:
    """All images, in random order."""

    cifar: Cifar
    rows: ExitRows
    labels: NDArray[np.intp]
    recorded: Recorded

    def fitted(self, numbers: list[int], agreement: float) -> ExitArtefact:
        """Exits that are trained on these images."""
        card, spec = self.cifar.entry.card, self.cifar.spec(agreement)
        return fit(card.name, card.identity, spec, self.rows.of(np.array(numbers)))


def images(count: int, folder: Path) -> Images:
    """So many of them; the network is written into the folder as a model."""
    jpegs, labels = archive()
    chosen = default_rng(0).permutation(len(jpegs))[:count]
    items = decoded([jpegs[at] for at in chosen])
    cifar = Cifar.written(folder, items[:1])
    rows = cifar.rows(items)
    cuts = [cut.tensor for cut in cifar.spec(0.9).cuts]
    leave_s = _leave_s(cifar, rows, items[:TIMED])
    logits = np.log(np.maximum(rows.shares, 1e-12))
    recorded = Recorded(dict(zip(cuts, rows.taps, strict=True)), logits, leave_s, cifar.whole_s)
    return Images(cifar, rows, labels[chosen].astype(np.intp), recorded)


def _leave_s(cifar: Cifar, rows: ExitRows, items: Array) -> dict[Places, list[float]]:
    """Median processor seconds of single looks, by turns: by places that are asked, of leaving at each and at none."""
    card, spec = cifar.entry.card, cifar.spec(0.9)
    exits = fit(card.name, card.identity, spec, rows.newest(400)).exits
    opened = cut_network(card.name, read_weights(cifar.entry.path, card), [cut.tensor for cut in spec.cuts])
    turns = iter(range(10**9))

    def timed(policy: RowPolicy) -> float:
        request = GroupRequest(card.name, items[next(turns) % len(items)][None], policy=policy)
        started_s = time.process_time()
        opened.run([request], 1)
        return time.process_time() - started_s

    runs: dict[tuple[Places, int], Callable[[], float]] = {}
    asked = [some for count in range(len(exits) + 1) for some in combinations(range(len(exits)), count)]
    for some in asked:
        for leaves in range(len(some) + 1):
            sure = [exits[place].at(float(at == leaves)) for at, place in enumerate(some)]
            by_cut = {each.tensor: each for each in sure}
            runs[some, leaves] = partial(timed, RowPolicy(ExitSet(by_cut, len(card.classes))))
    took = interleaved(runs, TIMED)
    opened.close()
    return {some: [median(took[some, leaves]) for leaves in range(len(some) + 1)] for some in asked}
