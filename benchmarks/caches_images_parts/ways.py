"""The ways to run a network in ``benchmarks.caches_images``: at a precision, with caches or without."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from statistics import mean
from time import process_time
from typing import Protocol, TypeVar

import numpy as np
import onnx

from benchmarks.caches_images_parts.cases import Case
from benchmarks.caches_parts.build import BuiltCaches, WholeNetwork, build
from benchmarks.caches_parts.certified import Constraint
from benchmarks.caches_parts.explore import BuildGoal, Cut, Explored, explore, problem
from benchmarks.caches_parts.lookup import lookup_s
from benchmarks.caches_parts.training import Lessons
from benchmarks.composition_parts.rivals import Rival
from benchmarks.exit_parts.taps import cut_costs, cut_network, through, whole_network
from cache_adapt.exits.certify import upper_bound
from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.vocabulary import Vocabulary
from serving.common.precision import Precision
from serving.common.tensors import Array, softmax
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitResult, ExitSet, RowPolicy
from serving.engines.groups import GroupRequest
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.quantise import CALIBRATION_ITEMS, quantised
from serving.graphs.segments import split
from serving.graphs.taps import tap_grid
from serving.profiling.timing import segment_times

Name = TypeVar("Name", bound=Hashable)
STEP = 16
EARLIEST, LATEST = 0.1, 0.95
"""Cut points between these shares of the work are explored."""
BUDGET_S = 4.0
"""Seconds for the times of segments."""
TRIED = 60
"""Items by which two networks are compared in speed."""


class Runs(Protocol):
    """A network, however it answers."""

    def run(self, batch: Array) -> list[Array]:
        """Return its outputs."""
        ...


class WithCaches:
    """A network that each item leaves at the first cache that is sure of it."""

    def __init__(self, network: ExitNetwork, caches: ExitSet) -> None:
        self._network, self._policy = network, RowPolicy(caches)

    def run(self, batch: Array) -> list[Array]:
        """``ExitResult`` as a list."""
        return self._network.run([GroupRequest("", batch, policy=self._policy)], len(batch))[0]


@dataclass(frozen=True)
class Base:
    """A network at one precision, with what caches for it are built from."""

    case: Case
    model: onnx.ModelProto
    precision: Precision
    opened: Runs
    least: float
    """The lower bound of its agreement with fp32."""
    cuts: Sequence[Cut]
    whole_s: float
    name: str = "the large network"

    def wanted(self, target: float, forms: Sequence[str]) -> BuildGoal:
        """What its caches must keep, so that with its own disagreement the target is kept."""
        return BuildGoal(Constraint(min(target + 1 - self.least, 1.0)), forms)

    def explored(self, wanted: BuildGoal) -> list[Explored]:
        """Every form at every cut."""
        return list(explore(self.cuts, wanted, lookup_s))

    def variant(self, explored: Sequence[Explored], wanted: BuildGoal, target: float) -> Rival:
        """The same for composition."""
        known = problem(self.cuts, self.whole_s, explored, wanted)
        return Rival(self.precision, self.least, replace(known, agreement=target))

    def caches(self, explored: Sequence[Explored], wanted: BuildGoal) -> BuiltCaches | None:
        """Build them; None where they do not pay."""
        return build(WholeNetwork(self.case.name, self.whole_s), self.cuts, explored, wanted).exits

    def with_caches(self, exits: Sequence[LearnedExit]) -> WithCaches:
        """Open the network with caches that answer; there is one at least."""
        network = cut_network(self.case.name, self.model, [each.tensor for each in exits], self.precision)
        return WithCaches(network, ExitSet({each.tensor: each for each in exits}, exits[0].vocabulary.labels))


def bases(case: Case) -> tuple[Base, Base]:
    """The network in fp32 and in int8; the caches of either are to say what fp32 says."""
    model = quantised(case.name, case.model, case.learnt[:CALIBRATION_ITEMS])
    whole, int8 = whole_network(case.name, case.model), whole_network(case.name, model, "int8")
    names = _tensors(case.model)
    whole_s, cut_s = cut_costs(case.name, case.model, names, case.learnt[:1])
    taps, scores = through(case.name, case.model, names, case.learnt)
    shares = softmax(scores)
    cuts = _cuts(case.name, case.model, taps, shares, whole_s, cut_s)
    first = Base(case, case.model, "fp32", whole, 1.0, cuts, whole_s)
    int8_s = whole_s * ratio(int8, whole, case.learnt)
    names = _tensors(model)
    alone_s, cut_s = cut_costs(case.name, model, names, case.learnt[:1])
    taps, scores = through(case.name, model, names, case.learnt)
    cuts = _cuts(case.name, model, taps, shares, int8_s, cut_s * int8_s / alone_s)
    other = (scores.argmax(axis=1) != shares.argmax(axis=1))[CALIBRATION_ITEMS:]
    return first, Base(case, model, "int8", int8, 1 - upper_bound(int(other.sum()), len(other)), cuts, int8_s)


def before(base: Base) -> Base:
    """The smaller network that goes before it; its caches are to say what the large one says."""
    case = base.case
    shares = base.cuts[0].lessons.shares
    assert case.small is not None
    small, names = whole_network("small", case.small), _tensors(case.small)
    whole_s = base.whole_s * ratio(small, base.opened, case.learnt)
    alone_s, cut_s = cut_costs("small", case.small, names, case.learnt[:1])
    taps, _ = through("small", case.small, names, case.learnt)
    cuts = _cuts("small", case.small, taps, shares, whole_s, cut_s * whole_s / alone_s)
    return Base(case, case.small, "fp32", small, 1.0, cuts, whole_s, "the small network")


def answers(network: Runs, items: Array) -> tuple[Array, float]:
    """The answer to each item, whoever gave it, and the share of those that did not need the whole network."""
    found, early = [], 0
    for start in range(0, len(items), STEP):
        outputs = network.run(items[start : start + STEP])
        scores = outputs[0]
        if len(outputs) > 1:
            exits = ExitResult.of(outputs)
            scores = np.where(exits.left[:, None], exits.distribution, scores)
            early += int(exits.left.sum())
        found.append(scores.argmax(axis=1))
    return np.concatenate(found), early / len(items)


def turns(runs: Mapping[Name, Callable[[Array], object]], items: Array) -> dict[Name, list[float]]:
    """Processor seconds of every run for each item."""
    order = Random(0)
    found: dict[Name, list[float]] = {way: [] for way in runs}
    for at in range(len(items)):
        for way in order.sample(list(runs), len(runs)):
            started = process_time()
            runs[way](items[at : at + 1])
            found[way].append(process_time() - started)
    return found


def ratio(one: Runs, other: Runs, items: Array) -> float:
    """Processor time of one network over another's."""
    took = turns({"one": one.run, "other": other.run}, items[:TRIED])
    return mean(took["one"]) / mean(took["other"])


def _tensors(model: onnx.ModelProto) -> list[str]:
    return [point.tensor for point in _points(model)]


def _points(model: onnx.ModelProto) -> list[CutPoint]:
    return [point for point in cut_points(model) if tap_grid(point) and EARLIEST < point.share < LATEST]


def _cuts(
    name: str, model: onnx.ModelProto, taps: Sequence[Array], shares: Array, whole_s: float, cut_s: float
) -> list[Cut]:
    points = _points(model)
    pieces = split(model, [point.tensor for point in points])
    seconds = segment_times(name, pieces, 1, BUDGET_S, process_time)
    until = [each * whole_s / sum(seconds) for each in accumulate(seconds)]
    lessons = [
        Lessons.of(tap, tap_grid(point) or (1, 1, 1), shares, Vocabulary(shares.shape[1], 0.0))
        for point, tap in zip(points, taps, strict=True)
    ]
    return [Cut(p.tensor, at, cut_s, each) for p, at, each in zip(points, until, lessons, strict=False)]
