"""The planner of a query with budgets: each node chooses among those of its models that are paid for. Pure.

A node's models stand on a ladder, the most accurate one that has the time first, and the first that is paid for as many
pictures as there are objects answers: Lines 11–13 of Algorithm 4.1 (Shen, 2019, §4.3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from operators.decision import Decision, Rung
from pipelines.planning.planner import Planner, Start, Step

Paid = Callable[[float], Mapping[str, float]]
"""For how many pictures each model of a node is paid at a time, seconds on the monotonic clock."""
ANY_NUMBER = 1 << 31
"""Objects that a model of unknown speed is taken to have time for."""


class WithinBudgets:
    """Asks another planner first; a ``Planner``."""

    def __init__(self, planner: Planner, paid: Mapping[str, Paid]) -> None:
        """``paid``: by node, for those that draw on a budget."""
        self._planner, self._paid = planner, paid

    def arrived(self, stream: str, now_s: float) -> None:
        self._planner.arrived(stream, now_s)

    def begins(self, start: Start) -> None:
        self._planner.begins(start)

    def plan(self, step: Step) -> Decision:
        decision, paid = self._planner.plan(step), self._paid.get(step.node)
        if paid is None or len(step.models) < 2:
            return decision
        pictures = paid(step.now_s)
        if all(most == inf for most in pictures.values()):
            return decision
        ladder = decision.ladder or [Rung(model, ANY_NUMBER) for model in step.models]
        return replace(decision, ladder=[rung._replace(paid=pictures.get(rung.model, inf)) for rung in ladder])

    def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
        return self._planner.ended(stream, node, took_s, plan)

    def forget(self, stream: str) -> None:
        self._planner.forget(stream)
