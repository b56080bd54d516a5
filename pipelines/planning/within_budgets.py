"""The planner of a query with budgets: each node chooses among those of its models that are paid for. Pure.

A node's models stand on a ladder, the most accurate one that has the time first, and the first that is paid for as many
pictures as there are objects answers: Lines 11–13 of Algorithm 4.1 (Shen, 2019, §4.3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from operators.decision import Decision, Rung
from pipelines.planning.planner import Planner, PlannerAround, Step

Paid = Callable[[float], Mapping[str, float]]
"""For how many pictures each model of a node is paid at a time, seconds on the monotonic clock."""
ANY_NUMBER = 1 << 31
"""Objects that a model of unknown speed is taken to have time for."""


class WithinBudgets(PlannerAround):
    """Asks another planner first."""

    def __init__(self, planner: Planner, paid: Mapping[str, Paid]) -> None:
        """``paid``: by node, for those that draw on a budget."""
        super().__init__(planner)
        self._paid = paid

    def plan(self, step: Step) -> Decision:
        decision, paid = self._planner.plan(step), self._paid.get(step.node)
        if paid is None or len(step.models) < 2:
            return decision
        pictures = paid(step.now_s)
        if all(most == inf for most in pictures.values()):
            return decision
        ladder = decision.ladder or [Rung(model, ANY_NUMBER) for model in step.models]
        return replace(decision, ladder=[rung._replace(paid=pictures.get(rung.model, inf)) for rung in ladder])
