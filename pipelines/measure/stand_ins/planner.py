"""The planner of nodes with stand-ins: where a query leaves nothing to choose, the stand-in is named. Pure.

The node runs it on streams whose audit allows that, and the network itself elsewhere, as with any variant; but one that
its contest has proven begins with answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from operators.decision import Decision
from pipelines.planning.planner import Planner, PlannerAround, Step


class Chosen(NamedTuple):
    """A stand-in."""

    variant: str
    why: str
    proven: bool = False
    """Whether its contest has shown that it agrees as often as the query wants."""


class WithStandIns(PlannerAround):
    """Asks another planner first."""

    def __init__(self, planner: Planner, chosen: Callable[[str], Chosen | None]) -> None:
        """``chosen``: the stand-in of a node at this moment."""
        super().__init__(planner)
        self._chosen = chosen

    def plan(self, step: Step) -> Decision:
        decision, chosen = super().plan(step), self._chosen(step.node)
        if chosen is None or decision.ladder or decision.variant != step.models[0]:
            return decision
        return replace(decision, variant=chosen.variant, why=chosen.why, compared=chosen.proven)
