"""Builds learned caches (Balasubramanian et al., 2021 [GATI], deployment phase): from what was explored to a calibrated
set of exits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.caches_parts.cache_exit import CacheExit
from benchmarks.caches_parts.calibrate import calibrated
from benchmarks.caches_parts.certified import Certified
from benchmarks.caches_parts.explore import BuildGoal, Cut, Explored, held_at, problem, trained_at
from benchmarks.caches_parts.held import HeldOutPredictions
from benchmarks.composition_parts.compose import compose
from benchmarks.composition_parts.problem import WORTH
from cache_adapt.learned.artefact import MOST_EXITS
from cache_adapt.learned.vocabulary import Vocabulary

FEW = 3
"""Every set of so many caches is tuned together. Composition looks at each cache by itself: it lets each use up all
wrong answers that are allowed, and does not know that one cache may make up for another."""


@dataclass(frozen=True, slots=True)
class WholeNetwork:
    """The network in which caches are built, as a whole."""

    model: str
    whole_s: float
    """Latency of one input without cuts."""


@dataclass(frozen=True, slots=True)
class BuiltCaches:
    """Caches that are calibrated together."""

    exits: tuple[CacheExit, ...]
    """In the order of the network."""
    vocabulary: Vocabulary
    speedup: float
    """Expected, in latency of one input."""


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build."""

    exits: BuiltCaches | None
    """None where caches do not make the network faster by ``WORTH``."""
    latency_s: float
    """Expected for one input with the caches; the network's own without."""
    certified: Certified | None
    """The thresholds' effect on the inputs that they were judged on."""
    leave_s: tuple[float, ...] = ()
    """Latency of an input that leaves at each cache, then of one that leaves at none."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    cut: Cut
    explored: Explored
    held: HeldOutPredictions


@dataclass(frozen=True, slots=True)
class _Tuned:
    """Caches whose thresholds were tuned together."""

    chosen: Sequence[_Chosen]
    thresholds: Sequence[float]
    certified: Certified
    leave_s: Sequence[float]

    @property
    def latency_s(self) -> float:
        """Expected for one input."""
        return self.leave_s[-1] * (1 - self.certified.effect.saved)


def build(
    network: WholeNetwork,
    cuts: Sequence[Cut],
    explored: Sequence[Explored],
    wanted: BuildGoal,
    fits: dict[tuple[str, str], HeldOutPredictions] | None = None,
) -> Built:
    """Choose caches, train them on everything, tune their thresholds together; ``fits``: of ``explore``."""
    known = {} if fits is None else fits
    found = [
        _without_idle(network, [_held(each, cuts, wanted, known) for each in some], wanted)
        for some in _candidates(network, cuts, explored, wanted)
    ]
    best = min((each for each in found if each is not None), key=lambda each: each.latency_s, default=None)
    if best is None:
        return Built(None, network.whole_s, None)
    if best.latency_s > (1 - WORTH) * network.whole_s:
        return Built(None, network.whole_s, best.certified, tuple(best.leave_s))
    return _trained(network, best, wanted)


def _candidates(
    network: WholeNetwork, cuts: Sequence[Cut], explored: Sequence[Explored], wanted: BuildGoal
) -> list[list[Explored]]:
    """Sets of caches that are tuned together: every set where there are few, else the one that composition chooses."""
    if len(explored) <= FEW and len({each.tensor for each in explored}) == len(explored):
        sets = [list(some) for count in range(1, len(explored) + 1) for some in combinations(explored, count)]
        return [some for some in sets if sum(each.memory_bytes for each in some) <= wanted.memory_bytes]
    whole = problem(cuts, network.whole_s, explored, wanted)
    by_key = {each.key: each for each in explored}
    picked = [whole.caches[index] for index in compose(whole)][:MOST_EXITS]
    return [[by_key[cuts[cache.layer - 1].tensor, cache.name] for cache in picked]]


def _held(
    explored: Explored, cuts: Sequence[Cut], wanted: BuildGoal, known: dict[tuple[str, str], HeldOutPredictions]
) -> _Chosen:
    cut = next(each for each in cuts if each.tensor == explored.tensor)
    if explored.key not in known:
        known[explored.key] = held_at(cut, explored.architecture, wanted)
    return _Chosen(cut, explored, known[explored.key])


def latencies(chosen: Sequence[tuple[Cut, Explored]], whole_s: float) -> list[float]:
    """Seconds of an input that leaves at each cache, having been looked up in those before; then at none."""
    found, spent = [], 0.0
    for cut, explored in chosen:
        spent += cut.overhead_s + explored.lookup_s
        found.append(cut.until_s + spent)
    return [*found, whole_s + spent]


def _without_idle(network: WholeNetwork, chosen: Sequence[_Chosen], wanted: BuildGoal) -> _Tuned | None:
    """Calibrate; a cache that answers nothing with the others there is left out, and the rest calibrated again."""
    if not chosen:
        return None
    leave_s = latencies([(each.cut, each.explored) for each in chosen], network.whole_s)
    scores = [each.held.errors[each.explored.selector] for each in chosen]
    right = [each.held.right for each in chosen]
    thresholds, found = calibrated(scores, right, leave_s, wanted.constraint)
    idle = [not count for count in found.effect.answered.tolist()]
    if any(idle):
        kept = [each for each, out in zip(chosen, idle, strict=True) if not out]
        return _without_idle(network, kept, wanted)
    return _Tuned(chosen, thresholds, found, leave_s)


def _trained(network: WholeNetwork, tuned: _Tuned, wanted: BuildGoal) -> Built:
    chosen = tuned.chosen
    trained = tuple(
        trained_at(each.cut, each.explored.architecture, each.held, each.explored.selector, wanted).at(threshold)
        for each, threshold in zip(chosen, tuned.thresholds, strict=True)
    )
    built = BuiltCaches(trained, chosen[0].cut.lessons.vocabulary, network.whole_s / tuned.latency_s)
    return Built(built, tuned.latency_s, tuned.certified, tuple(tuned.leave_s))
