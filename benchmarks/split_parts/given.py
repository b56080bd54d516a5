"""What given splits of the SLO take, to be compared with the best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from pipelines.planning.latency_split import SLACK_S, LatencySplit, Stage, _in_order, _rates, _workers


def split_as(stages: Sequence[Stage], budgets_s: Mapping[str, float]) -> LatencySplit | None:
    """The demands of a given split; None where a stage cannot keep its budget."""
    rates = _rates(stages)
    workers = sum(_workers(rates[stage.name], served(stage, budgets_s[stage.name])) for stage in stages)
    return None if workers == inf else LatencySplit(dict(budgets_s), workers)


def even_split(stages: Sequence[Stage], slo_s: float) -> LatencySplit | None:
    """The baseline: stages of equal rank in equal parts of the SLO."""
    depth: dict[str, int] = {}
    for stage in _in_order(stages):
        depth[stage.name] = 1 + (depth[stage.source] if stage.source is not None else 0)
    return split_as(stages, {stage.name: slo_s / max(depth.values()) for stage in stages})


def served(stage: Stage, budget_s: float) -> float:
    """T(L): items a second with a budget; 0 where nothing can be served in time."""
    return max((rate for needs_s, rate in stage.throughput.items() if needs_s <= budget_s + SLACK_S), default=0.0)
