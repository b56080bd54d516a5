"""Spending of one node of a query: which of its models its budgets pay for now, and for how many pictures. Pure.

A node draws on a budget of its own, and on those of the backends that its models are on. Its cheapest model of this
machine is never refused: where nothing else is paid for, it answers, even at the cost of more than the day has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor, inf, isfinite
from typing import NamedTuple

from serving.budgets.day_budget import DayBudget
from serving.budgets.prices import CallWork
from serving.errors import BudgetSpent

NEWEST = 0.1
"""Share of the newest call in the mean number of pictures."""

WorkOf = Callable[[str, int], CallWork]
"""The expected work of a call, by the model and the number of pictures."""


class Charge(NamedTuple):
    """The amount reserved for a call at one budget."""

    budget: DayBudget
    estimate: float


class NodeSpending:
    """Draws on the budgets by holder: ``node NAME`` and ``backend NAME``."""

    def __init__(
        self, node: str, models: Mapping[str, str | None], budgets: Mapping[str, DayBudget], work_of: WorkOf
    ) -> None:
        """``models``: the backend of each, best model first; None for those of this machine."""
        self.node, self._models, self._work_of = node, models, work_of
        self._drawn = {model: _drawn(node, backend, budgets) for model, backend in models.items()}
        self._pictures = 1.0

    def paid(self, now_s: float) -> dict[str, float]:
        """The node is about to run for a frame: for how many pictures each model is paid; infinite: for any number."""
        each_once = {id(budget): budget for budgets in self._drawn.values() for budget in budgets}
        may_cost = {
            place: budget.begins(self.node, now_s, self._dearest(budget)) for place, budget in each_once.items()
        }
        cheapest = self.cheapest()
        return {
            model: min((self._most(model, each, may_cost[id(each)]) for each in budgets), default=inf)
            if model != cheapest
            else inf
            for model, budgets in self._drawn.items()
        }

    def reserve(self, model: str, pictures: int) -> list[Charge]:
        """Set aside what a call may cost; ``pay`` must follow. BudgetSpent where a budget does not pay for it."""
        self._pictures += NEWEST * (pictures - self._pictures)
        is_free, charges = model == self.cheapest(), list[Charge]()
        for budget in self._drawn.get(model, ()):
            estimate = 0.0 if is_free else self._cost(model, budget, pictures)
            if not budget.reserve(self.node, estimate):
                self.pay(model, charges, None)
                raise BudgetSpent(budget.refusal(model, estimate))
            charges.append(Charge(budget, estimate))
        return charges

    def pay(self, model: str, charges: Sequence[Charge], work: CallWork | None) -> None:
        """Pay for a call that was made; None: it was not."""
        for budget, estimate in charges:
            budget.pay(self.node, model, estimate, 0.0 if work is None else _price(budget, work))

    def cheapest(self) -> str | None:
        """The model of this machine that costs least, of equal ones the last; None where all are elsewhere."""
        here = [model for model, backend in self._models.items() if backend is None]
        own = next((each for each in self._drawn[here[0]]), None) if here else None
        if own is None:
            return here[-1] if here else None
        return min(reversed(here), key=lambda model: self._cost(model, own, 1))

    def _cost(self, model: str, budget: DayBudget, pictures: int) -> float:
        return _price(budget, self._work_of(model, pictures))

    def _most(self, model: str, budget: DayBudget, may_cost: float) -> float:
        one = self._cost(model, budget, 1)
        more = self._cost(model, budget, 2) - one
        if one <= 0 and more <= 0:
            return inf
        if may_cost < one:
            return 0.0
        most = 1 + (may_cost - one) / more if more > 0 else inf
        return float(floor(most)) if isfinite(most) else inf

    def _dearest(self, budget: DayBudget) -> float:
        """The cost of a call with twice as many pictures as calls have had, by the dearest model that draws on it."""
        pictures = max(1, round(2 * self._pictures))
        drawing = (model for model, budgets in self._drawn.items() if any(each is budget for each in budgets))
        return max(self._cost(model, budget, pictures) for model in drawing)


def _drawn(node: str, backend: str | None, budgets: Mapping[str, DayBudget]) -> list[DayBudget]:
    holders = [f"node {node}", f"backend {backend}"]
    return [budgets[holder] for holder in holders if holder in budgets]


def _price(budget: DayBudget, work: CallWork) -> float:
    """A backend's budget does not pay for this machine's work."""
    is_backend = budget.terms.holder.startswith("backend ")
    return budget.terms.prices.cost(work._replace(processor_s=0.0, joules=0.0) if is_backend else work)
