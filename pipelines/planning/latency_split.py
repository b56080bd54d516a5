"""How to split the SLO of a query among its stages, by the workers that a split needs (Shen, 2019, §3.4.2). Pure.

A stage that is given more time runs larger batches and so serves more items a second; T(L) is its throughput with a
budget of L. A stage that is asked α times for each item of the stage before it must serve α times as many, so
αᵢⱼ·Nᵢ·Tᵢ(Lᵢ) = Nⱼ·Tⱼ(Lⱼ), and the split with the least ΣN holds the most items on a given number of workers.

The search is exact: for each stage and all after it the front of (time, workers) that no other pair beats is computed
from the fronts of the stages after it. T is a step function, so fronts are finite and nothing is rounded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

SLACK_S = 1e-12
"""Sums of budgets may exceed the SLO by so much, which is rounding."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A node of a query as the split sees it."""

    name: str
    source: str | None
    """The stage whose items it takes; None for the input."""
    alpha: float
    """How often it is asked for each item of its source, 0 or more."""
    throughput: Mapping[float, float]
    """Items a second that one worker serves with a budget of so many seconds; those between have the lower one's."""


@dataclass(frozen=True, slots=True)
class LatencySplit:
    budgets_s: Mapping[str, float]
    workers: float
    """ΣN for one item a second at the input."""


@dataclass(frozen=True, slots=True)
class _Point:
    """A split of the time of a stage and all after it."""

    time_s: float
    workers: float
    budget_s: float
    """Time for the stage itself."""


_Front = list[_Point]
"""Rising in time, falling in workers."""


def best_split(stages: Sequence[Stage], slo_s: float) -> LatencySplit | None:
    """The split that needs the fewest workers; None where no split meets the SLO."""
    fronts, rates = dict[str, _Front](), _rates(stages)
    for stage in reversed(_in_order(stages)):
        fronts[stage.name] = _front(stage, rates[stage.name], [fronts[each.name] for each in _after(stages, stage)])
    budgets: dict[str, float] = {}
    workers = sum(_take(stages, stage, fronts, slo_s, budgets) for stage in stages if stage.source is None)
    return None if workers == inf else LatencySplit({stage.name: budgets[stage.name] for stage in stages}, workers)


def batch_throughput(latency_s: Mapping[int, float], duty_cycles: float = 2.0) -> dict[float, float]:
    """T by budget, from the latency of batches; an item waits for one batch and runs in the next (§3.4.1)."""
    return {duty_cycles * seconds: batch / seconds for batch, seconds in latency_s.items()}


def _in_order(stages: Sequence[Stage]) -> list[Stage]:
    """Every stage after its source; the stages are trees by construction."""
    found: list[Stage] = []
    while len(found) < len(stages):
        known = {None, *(stage.name for stage in found)}
        ready = [stage for stage in stages if stage.source in known and stage.name not in known]
        if not ready:
            raise ValueError(f"stages in a circle, or with an unknown source, among {[each.name for each in stages]}")
        found += ready
    return found


def _after(stages: Sequence[Stage], stage: Stage) -> list[Stage]:
    return [each for each in stages if each.source == stage.name]


def _rates(stages: Sequence[Stage]) -> dict[str, float]:
    """Items a second by stage, for one at the input."""
    rates: dict[str, float] = {}
    for stage in _in_order(stages):
        rates[stage.name] = stage.alpha * (rates[stage.source] if stage.source is not None else 1.0)
    return rates


def _workers(rate: float, throughput: float) -> float:
    if not rate:
        return 0.0
    return rate / throughput if throughput else inf


def _front(stage: Stage, rate: float, after: Sequence[_Front]) -> _Front:
    """The front of a stage and all after it."""
    own = [(needs_s, _workers(rate, throughput)) for needs_s, throughput in stage.throughput.items()]
    points = [
        _Point(needs_s + rest_s, workers + more, needs_s)
        for rest_s, more in _together(after)
        for needs_s, workers in own
    ]
    return list(_unbeaten(points))


def _together(fronts: Sequence[_Front]) -> Iterator[tuple[float, float]]:
    """Time and workers of branches that share one budget."""
    for time_s in sorted({0.0, *(point.time_s for front in fronts for point in front)}):
        found = [_within(front, time_s) for front in fronts]
        if all(found):
            yield time_s, sum(point.workers for point in found if point is not None)


def _unbeaten(points: Sequence[_Point]) -> Iterator[_Point]:
    least = inf
    for point in sorted(points, key=lambda point: (point.time_s, point.workers)):
        if point.workers < least:
            least = point.workers
            yield point


def _within(front: _Front, time_s: float) -> _Point | None:
    """The point of a front with the fewest workers that takes no longer."""
    place = bisect_right(front, time_s + SLACK_S, key=lambda point: point.time_s)
    return front[place - 1] if place else None


def _take(
    stages: Sequence[Stage], stage: Stage, fronts: Mapping[str, _Front], time_s: float, budgets: dict[str, float]
) -> float:
    """Note the budgets of a stage and all after it within a time; returns their workers.

    What is left of the time goes to the stages at the ends: unused budget costs nothing.
    """
    point = _within(fronts[stage.name], time_s)
    if point is None:
        return inf
    after = _after(stages, stage)
    budgets[stage.name] = point.budget_s if after else time_s
    for each in after:
        _take(stages, each, fronts, time_s - point.budget_s, budgets)
    return point.workers
