"""Planners that choose within a query's budgets, and within the states of models now. Pure.

Another planner says which models have the time, best first; of these the first that is paid for as many pictures as
there are objects answers: Lines 11–13 of Algorithm 4.1 (Shen, 2019, §4.3.3).

At nodes that name no model, models in trouble, and those that a placement of a fleet
has nowhere while it has others, come last, so that they answer only where
no other has the time; and where a node requires a latency or a cost, all models that meet them are equally good, and
the one that ``select`` takes comes first: the least loaded of the active ones, else the one that is ready soonest
(Romero et al., 2021, §4.1). It stays until it is in trouble itself, so that answers do not change sides for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from operators.decision import Decision, Rung
from pipelines.planning.planner import Planner, PlannerAround, Step
from serving.scheduling.estimates import LatencyTable
from serving.scheduling.health import TROUBLED, State
from serving.selection import Requirements, VariantRecord, VariantTable, select

Paid = Callable[[float], Mapping[str, float]]
"""For how many pictures each model of a node is paid at a time, seconds on the monotonic clock."""
ANY_NUMBER = 1 << 31
"""Objects that a model of unknown speed is taken to have time for."""


class WithinBudgets(PlannerAround):
    """Each node chooses among those of its models that are paid for."""

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


NOWHERE = "placed nowhere"
AGAIN_S = 1.0
"""An order of models holds for so long."""


class ModelStanding(NamedTuple):
    state: State
    load: float
    """Share of its peak throughput that it serves."""
    placed: bool = True
    """Whether it is ready where a placement has it; also where there is none."""


Seconds = Mapping[str, Mapping[int, float]]
"""Seconds of the batches of models by size, as they were measured."""
StatesAt = Callable[[float, Seconds], Mapping[str, ModelStanding]]
"""The states of models at a time, seconds on the monotonic clock."""


@dataclass(frozen=True, slots=True)
class _Order:
    until_s: float
    first: str | None
    """The model that is taken before others; None: the best one that is not in trouble."""
    troubled: Mapping[str, str]
    """Models that come last, and why."""
    why: str
    meets: bool = False
    """Whether the first one meets all requirements."""

    def of(self, ladder: Sequence[Rung]) -> list[Rung]:
        """Models in trouble last; the first of all says why it is that."""
        found = sorted(ladder, key=lambda rung: (rung.model != self.first, rung.model in self.troubled))
        return [found[0]._replace(said=self.why), *found[1:]] if self.why else found


class WithinStates(PlannerAround):
    """Nodes that name no model pass over those that are overloaded or interfered now."""

    def __init__(
        self, planner: Planner, needs: Mapping[str, Requirements], seconds: Callable[[], Seconds], states: StatesAt
    ) -> None:
        """``needs``: by node that names no model; ``seconds``: of all models that were measured by now."""
        super().__init__(planner)
        self._needs, self._seconds, self._states = needs, seconds, states
        self._orders: dict[str, _Order] = {}

    def plan(self, step: Step) -> Decision:
        decision = self._planner.plan(step)
        if step.node not in self._needs or len(decision.ladder) < 2:
            return decision
        order = self._orders.get(step.node)
        if order is None or step.now_s >= order.until_s:
            models = [rung.model for rung in decision.ladder]
            order = self._orders[step.node] = self._ordered(step.node, models, step.now_s, order)
        ladder = order.of(decision.ladder)
        return replace(decision, variant=ladder[0].model, ladder=ladder)

    def _ordered(self, node: str, models: Sequence[str], now_s: float, before: _Order | None) -> _Order:
        needs, known = self._needs[node], self._seconds()
        seconds = {model: known[model] for model in models if known.get(model)}
        standing = self._states(now_s, seconds)
        troubled: dict[str, str] = {model: each.state for model, each in standing.items() if each.state in TROUBLED}
        if any(each.placed for each in standing.values()):
            troubled |= {model: NOWHERE for model, each in standing.items() if not each.placed}
        until_s = now_s + AGAIN_S
        if (needs.latency_s == inf and needs.cost == inf) or not seconds:
            return _Order(until_s, None, troubled, _passed_over(models, troubled))
        if before is not None and before.first in seconds and before.meets and before.first not in troubled:
            return replace(before, until_s=until_s, troubled=troubled)
        among = [model for model in seconds if troubled.get(model) != NOWHERE]
        choice = select(needs, VariantTable([_record(model, seconds[model], standing[model]) for model in among]))
        return _Order(until_s, choice.variant, troubled, choice.reason, choice.meets)


def _record(model: str, seconds: Mapping[int, float], standing: ModelStanding) -> VariantRecord:
    """A model to select from; those that are listed have the accuracy that is needed, and loading was not measured."""
    cost = min(took_s / batch for batch, took_s in seconds.items())
    return VariantRecord(model, LatencyTable(seconds)(1), 0.0, 1.0, cost, standing.state, standing.load)


def _passed_over(models: Sequence[str], troubled: Mapping[str, str]) -> str:
    """Why the first model is not asked, or is though it is in trouble; empty where it is in none."""
    if models[0] not in troubled:
        return ""
    if len(troubled) == len(models):
        return "all models are overloaded or interfered"
    return f"{models[0]} is {troubled[models[0]]}"
