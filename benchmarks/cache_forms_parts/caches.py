"""A predictor with its selector, as a cache: how sure it must be, and what it answers then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cache_forms_parts.blocks import Outputs
from benchmarks.cache_forms_parts.forms import CONV, FC, POOL, Loss, Predictor, trained
from benchmarks.caches_parts.selector import Selector
from benchmarks.caches_parts.training import train_selector
from benchmarks.composition_parts.problem import Cache
from serving.common.tensors import Array

FORMS = (FC, POOL, CONV)
AGREEMENT = 0.97
POINTS = (1.0, 0.5, 0.25)
"""Parts of what may be answered wrongly that one cache may use up."""
HELD = 0.15
"""Share of what is learnt from that the selector is trained on, and another on which its threshold is chosen."""


@dataclass(frozen=True)
class Said:
    """A cache's answers for N inputs."""

    errors: Array
    right: Array

    def hits(self, threshold: float) -> Array:
        found: Array = self.errors < threshold
        return found

    def share(self, threshold: float) -> float:
        """The hit rate."""
        return float(self.hits(threshold).mean())

    def accuracy(self, threshold: float) -> float:
        """Share of all lookups that are not answered wrongly."""
        return 1 - float((self.hits(threshold) & ~self.right).mean())


@dataclass(frozen=True)
class TrainedCache:
    """A predictor, its selector, and its answers on what its threshold is chosen on, and on what is unseen."""

    predictor: Predictor
    loss: Loss
    selector: Selector
    chosen: Said
    unseen: Said
    lookup_s: float

    def threshold(self, part: float = 1.0) -> float:
        """The highest that spends at most this part of what may be wrong."""
        order = np.argsort(self.chosen.errors)
        wrong = np.cumsum(~self.chosen.right[order])
        most = part * (1 - AGREEMENT) * len(order)
        keeps = int(np.searchsorted(wrong, most, side="right"))
        return float(self.chosen.errors[order][keeps]) if keeps < len(order) else 1.0

    def points(self) -> Iterator[Cache]:
        """What composition may choose; accuracy is that of hits."""
        for part in POINTS:
            threshold = self.threshold(part)
            hits = self.chosen.share(threshold)
            if hits > 0:
                right = 1 - (1 - self.chosen.accuracy(threshold)) / hits
                name = f"{self.predictor.form}:{part}"
                yield Cache(self.predictor.block, name, hits, right, self.lookup_s, self.predictor.memory_mb)


def explored(
    blocks: Sequence[int], forms: Sequence[str], loss: Loss, learnt: Outputs, unseen: Outputs
) -> list[TrainedCache]:
    """Every form at every block."""
    return [cached(block, form, loss, learnt, unseen) for block in blocks for form in forms]


def cached(block: int, form: str, loss: Loss, learnt: Outputs, unseen: Outputs) -> TrainedCache:
    """Train a predictor on most of what is learnt from, a selector and its threshold on the rest."""
    count = len(learnt.logits)
    first, second = count - int(2 * HELD * count), count - int(HELD * count)
    predictor = trained(block, form, loss, learnt.features[block][:first], learnt.logits[:first])
    held = predictor.probabilities(learnt.features[block][first:])
    right = held.argmax(axis=1) == learnt.words[first:].numpy()
    middle = second - first
    selector = train_selector(held[:middle], right[:middle], np.random.default_rng(block))
    chosen = Said(selector.errors(held[middle:]), right[middle:])
    return TrainedCache(predictor, loss, selector, chosen, said(predictor, selector, unseen), predictor.lookup_s())


def said(predictor: Predictor, selector: Selector, inputs: Outputs) -> Said:
    distribution = predictor.probabilities(inputs.features[predictor.block])
    return Said(selector.errors(distribution), distribution.argmax(axis=1) == inputs.words.numpy())


def elsewhere(cache: TrainedCache, inputs: Outputs) -> TrainedCache:
    """The same cache on other inputs."""
    return replace(cache, unseen=said(cache.predictor, cache.selector, inputs))
