"""A smaller network before the large one, with caches in either or in none (GATI, §7.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.caches_images_parts.ways import STEP, Base, Runs
from benchmarks.caches_parts.build import BuiltCaches, latencies
from benchmarks.caches_parts.cache_exit import CacheExit
from benchmarks.caches_parts.calibrate import calibrated
from benchmarks.caches_parts.certified import Constraint
from benchmarks.caches_parts.explore import BuildGoal, Cut, Explored, held_at
from benchmarks.caches_parts.selector import largest
from serving.common.tensors import Array, softmax
from serving.engines.exits import ExitResult


class Cascade:
    """The small network and its caches answer where they are sure; the large one and its own do elsewhere."""

    def __init__(self, small: Runs, large: Runs, threshold: float) -> None:
        """``threshold``: the small network's own answers with a lower error score are used."""
        self._small, self._large, self._threshold = small, large, threshold

    def run(self, batch: Array) -> list[Array]:
        """``ExitResult`` as a list; an item's place is 0 where the large network did not finish it."""
        said, early = _said(self._small.run(batch))
        unsure = ~early & (largest(said) >= self._threshold)
        scores, whole = np.zeros_like(said), np.zeros(len(batch), bool)
        if unsure.any():
            outputs = self._large.run(batch[unsure])
            said[unsure], early[unsure] = _said(outputs)
            whole = unsure & ~early
            scores[whole] = outputs[0][whole[unsure]]
        place = whole.astype(np.int32)
        return ExitResult(scores, place, ~whole, said, [said]).as_list()


@dataclass(frozen=True)
class Part:
    """A network of the cascade, and the caches that it would have alone."""

    base: Base
    explored: Sequence[Explored] = ()
    built: BuiltCaches | None = None

    @property
    def caches(self) -> tuple[CacheExit, ...]:
        """In the order of the network."""
        return () if self.built is None else self.built.exits

    def chosen(self) -> list[tuple[Cut, Explored]]:
        """By cache, where it is and what was found there."""
        cuts = {cut.tensor: cut for cut in self.base.cuts}
        found = {each.key: each for each in self.explored}
        return [(cuts[each.tensor], found[each.tensor, each.predictor.name]) for each in self.caches]

    def leave_s(self) -> list[float]:
        """Seconds until an item leaves at each cache, then at none."""
        return latencies(self.chosen(), self.base.whole_s)

    def only(self, thresholds: Sequence[float], answered: Sequence[int]) -> Part:
        """The same with these thresholds, and without the caches that answered nothing."""
        kept = [
            cache.at(threshold)
            for cache, threshold, count in zip(self.caches, thresholds, answered, strict=True)
            if count
        ]
        return replace(self, built=replace(self.built, exits=tuple(kept)) if self.built and kept else None)

    def opened(self) -> Runs:
        """The network as it is to run."""
        return self.base.opened if self.built is None else self.base.with_caches(self.built.exits)


def cascade(small: Part, large: Part, wanted: BuildGoal) -> Cascade:
    """Open a cascade whose thresholds are tuned and certified together, as those of caches are."""
    target = Constraint(wanted.constraint.agreement)
    said = _answers(small.base.opened, small.base.case.learnt)
    own = largest(said), said.argmax(axis=1) == large.base.cuts[0].lessons.words
    while True:
        first, last = _held(small, wanted), _held(large, wanted)
        errors, right = zip(*first, own, *last, strict=True)
        before_s = small.leave_s()
        thresholds, found = calibrated(
            errors, right, [*before_s, *(before_s[-1] + each for each in large.leave_s())], target
        )
        answered, at = found.effect.answered.tolist(), len(first)
        if all(answered[:at]) and all(answered[at + 1 :]):
            threshold = thresholds[at]
            ready = [
                part.only(mine, [1] * len(mine))
                for part, mine in ((small, thresholds[:at]), (large, thresholds[at + 1 :]))
            ]
            return Cascade(ready[0].opened(), ready[1].opened(), threshold)
        small = small.only(thresholds[:at], answered[:at])
        large = large.only(thresholds[at + 1 :], answered[at + 1 :])


def _held(part: Part, wanted: BuildGoal) -> list[tuple[Array, Array]]:
    """By cache, its error scores for inputs that it had not seen, and whether it is right."""
    found = []
    for (cut, explored), cache in zip(part.chosen(), part.caches, strict=True):
        held = held_at(cut, cache.predictor.name, wanted)
        found.append((held.errors[explored.selector], held.right))
    return found


def _answers(network: Runs, items: Array) -> Array:
    scores = [network.run(items[at : at + STEP])[0] for at in range(0, len(items), STEP)]
    return softmax(np.concatenate(scores))


def _said(outputs: Sequence[Array]) -> tuple[Array, Array]:
    """What a network says of each item, and whether a cache of its own says it."""
    said = softmax(outputs[0])
    if len(outputs) == 1:
        return said, np.zeros(len(said), bool)
    exits = ExitResult.of(outputs)
    said[exits.left] = exits.distribution[exits.left]
    return said, exits.left
