"""CIFAR-10 pictures that ResNet-18 has not learnt from, with what exits can read of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.exit_parts.taps import item_s, through
from benchmarks.weg_parts.cifar_models import CLASSES, LARGE, write_models
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from pipelines.measure.exit_places import exit_places
from serving.catalogue.lookup import Catalogue, Entry, read_weights
from serving.common.tensors import Array, softmax

WORDS = Vocabulary(CLASSES, 0.0)
"""The network always gives a name."""


@dataclass(frozen=True)
class Cifar:
    """The network, cut where exits are tried."""

    entry: Entry
    whole_s: float
    """Processor seconds of one picture, without cuts."""

    @classmethod
    def written(cls, folder: Path, item: Array) -> Cifar:
        """Write it as a model; ``item``: one picture (1 × …), to take its time."""
        write_models(folder, [f"class-{number}" for number in range(CLASSES)])
        entry = Catalogue([folder]).find(LARGE)
        return cls(entry, item_s(LARGE, read_weights(entry.path, entry.card), item))

    def spec(self, agreement: float) -> ExitsSpec:
        """Exits at the places where a node tries them."""
        return ExitsSpec(tuple(exit_places(self.entry)), WORDS, agreement)

    def rows(self, items: Array) -> ExitRows:
        """What becomes of pictures, as the network takes them."""
        cuts = [cut.tensor for cut in exit_places(self.entry)]
        taps, scores = through(LARGE, read_weights(self.entry.path, self.entry.card), cuts, items)
        shares = softmax(scores)
        return ExitRows(taps, shares, WORDS.of(shares), np.ones(len(items), np.float32))
