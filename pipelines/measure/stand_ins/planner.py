"""The planner of nodes with stand-ins: where a query leaves nothing to choose, the stand-in is named. Pure.

The node runs it on streams whose audit allows that, and the network itself elsewhere, as with any variant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from operators.decision import Decision
from pipelines.planning.planner import Planner, Start, Step


class Chosen(NamedTuple):
    """A stand-in."""

    variant: str
    why: str


class WithStandIns:
    """Asks another planner first; a ``Planner``."""

    def __init__(self, planner: Planner, chosen: Callable[[], Mapping[str, Chosen]]) -> None:
        """``chosen``: the stand-ins of this moment, by node."""
        self._planner, self._chosen = planner, chosen

    def arrived(self, stream: str, now_s: float) -> None:
        self._planner.arrived(stream, now_s)

    def begins(self, start: Start) -> None:
        self._planner.begins(start)

    def plan(self, step: Step) -> Decision:
        decision, chosen = self._planner.plan(step), self._chosen().get(step.node)
        if chosen is None or decision.ladder or decision.variant != step.models[0]:
            return decision
        return replace(decision, variant=chosen.variant, why=chosen.why)

    def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
        return self._planner.ended(stream, node, took_s, plan)

    def forget(self, stream: str) -> None:
        self._planner.forget(stream)
