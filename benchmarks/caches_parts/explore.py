"""Exploration: how every form of cache does at every cut point (Balasubramanian et al., 2021 [GATI], §4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated
from zlib import crc32

import msgspec
import numpy as np
from numpy.random import Generator, default_rng

from benchmarks.caches_parts.cache_exit import CacheExit
from benchmarks.caches_parts.calibrate import Operating, best_score, operating
from benchmarks.caches_parts.certified import Constraint
from benchmarks.caches_parts.forms import EXPLORED, shape_read
from benchmarks.caches_parts.held import HeldOutPredictions, held
from benchmarks.caches_parts.predictor import Predictor
from benchmarks.caches_parts.selector import Selector
from benchmarks.caches_parts.training import Lessons, train_predictor, train_selector
from benchmarks.composition_parts.problem import Cache, CompositionProblem
from cache_adapt.learned.fit import commonest, soft_map

BUDGETS = (1.0, 0.5, 0.25)
"""Parts of what may be answered wrongly that one cache may use up by itself; composition chooses."""
TIMED_ROWS = 64

Timed = Callable[[CacheExit], float]
"""Seconds of one lookup here and now."""
Seconds = Annotated[float, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Cut:
    """A place for a cache."""

    tensor: str
    until_s: float
    """The network's latency up to here."""
    overhead_s: float
    """The latency that cutting and pooling here adds to an input that goes on."""
    lessons: Lessons


@dataclass(frozen=True, slots=True)
class BuildGoal:
    """The goal of a build of caches."""

    constraint: Constraint
    architectures: Sequence[str] = EXPLORED
    memory_bytes: float = float("inf")
    seed: int = 0

    @property
    def levels(self) -> list[Constraint]:
        """The constraints under which a cache is looked at by itself."""
        whole, shares = self.constraint, BUDGETS if self.constraint.of == "inputs" else (1.0,)
        return [replace(whole, agreement=1 - (1 - whole.agreement) * share) for share in shares]


class Explored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One form at one cut point."""

    tensor: str
    architecture: str
    selector: bool
    """Whether selectors did better than the largest probability."""
    points: tuple[Operating, ...]
    lookup_s: Seconds
    memory_bytes: Annotated[int, msgspec.Meta(ge=0)]

    @property
    def key(self) -> tuple[str, str]:
        return self.tensor, self.architecture


def explore(
    cuts: Sequence[Cut],
    wanted: BuildGoal,
    timed: Timed,
    known: Collection[Explored] = (),
    fits: dict[tuple[str, str], HeldOutPredictions] | None = None,
) -> Iterator[Explored]:
    """Every form that fits, at every cut; what is ``known`` from before is not explored again.

    ``fits``: is given the cross-fitted predictions, by what was explored, for the next build.
    """
    before = {each.key: each for each in known}
    for cut in cuts:
        for name in wanted.architectures:
            if shape_read(name, cut.lessons.grid):
                yield before.get((cut.tensor, name)) or _explored(cut, name, wanted, timed, fits)


def problem(cuts: Sequence[Cut], whole_s: float, explored: Sequence[Explored], wanted: BuildGoal) -> CompositionProblem:
    """The problem of composition: each form at each of its points is a cache by itself."""
    order = {cut.tensor: number for number, cut in enumerate(cuts, 1)}
    until = [0.0, *(cut.until_s for cut in cuts), whole_s]
    layers = [later - earlier for earlier, later in pairwise(until)]
    caches = [
        Cache(
            order[each.tensor],
            each.architecture,
            point.hit_rate,
            point.accuracy,
            each.lookup_s + cuts[order[each.tensor] - 1].overhead_s,
            each.memory_bytes,
        )
        for each in explored
        for point in each.points
        if point.hit_rate > 0
    ]
    return CompositionProblem(
        layers, sorted(caches, key=lambda cache: cache.layer), wanted.constraint.agreement, wanted.memory_bytes
    )


def held_at(cut: Cut, name: str, wanted: BuildGoal) -> HeldOutPredictions:
    """Cross-fitted predictions, the same each time."""
    return held(name, cut.lessons, _rng(wanted, cut.tensor, name))


def trained_at(cut: Cut, name: str, found: HeldOutPredictions, selector: bool, wanted: BuildGoal) -> CacheExit:
    """An exit that is trained on everything; its threshold is closed."""
    rng = _rng(wanted, cut.tensor, name, "all")
    predictor = train_predictor(name, cut.lessons, rng)
    chosen = train_selector(found.distribution, found.right, rng) if selector else None
    return _exit(cut.tensor, cut.lessons, predictor, chosen)


def _exit(tensor: str, lessons: Lessons, predictor: Predictor, selector: Selector | None) -> CacheExit:
    weights = np.ones(len(lessons.words), np.float32)
    soft = soft_map(lessons.features.astype(np.float32), lessons.shares, weights, commonest(weights @ lessons.shares))
    return CacheExit.of(tensor, lessons.vocabulary, lessons.seen, predictor, soft, selector)


def _explored(
    cut: Cut, name: str, wanted: BuildGoal, timed: Timed, fits: dict[tuple[str, str], HeldOutPredictions] | None
) -> Explored:
    found = held_at(cut, name, wanted)
    if fits is not None:
        fits[cut.tensor, name] = found
    selector, _ = best_score(found, wanted.constraint)
    points = tuple(operating(found, selector, level) for level in wanted.levels)
    rng, few = _rng(wanted, cut.tensor, name, "time"), slice(TIMED_ROWS)
    # The clock does not care for its weights.
    predictor = train_predictor(name, cut.lessons.rows(few), rng, epochs=0)
    chosen = train_selector(found.distribution[few], found.right[few], rng) if selector else None
    blank = _exit(cut.tensor, cut.lessons.rows(few), predictor, chosen)
    return Explored(cut.tensor, name, selector, points, timed(blank), blank.memory_bytes)


def _rng(wanted: BuildGoal, *what: str) -> Generator:
    return default_rng([wanted.seed, crc32("\0".join(what).encode())])
