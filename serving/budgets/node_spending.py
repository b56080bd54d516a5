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
        self,
        node: str,
        models: Mapping[str, str | None],
        budgets: Mapping[str, DayBudget],
        work_of: WorkOf,
        has_share: bool = True,
    ) -> None:
        """``models``: the backend of each, best model first; None for those of this machine.

        ``has_share``: whether calls get shares of the day; else they are bounded by the day alone.
        """
        self._has_share = has_share
        self.node, self._models, self._work_of = node, models, work_of
        self._drawn = {model: _drawn(node, backend, budgets) for model, backend in models.items()}
        self._budgets = list({id(each): each for drawn in self._drawn.values() for each in drawn}.values())
        self._pictures = 1.0

    @property
    def is_bounded(self) -> bool:
        """Whether it draws on any budget."""
        return bool(self._budgets)

    def paid(self, now_s: float) -> dict[str, float]:
        """For how many pictures each model is paid now; infinite: for any number."""
        may_cost = {id(budget): budget.may_cost(self.node, now_s, self._dearest(budget)) for budget in self._budgets}
        cheapest = self.cheapest()
        return {
            model: min((self._most(model, each, may_cost[id(each)]) for each in budgets), default=inf)
            if model != cheapest
            else inf
            for model, budgets in self._drawn.items()
        }

    def price(self, model: str, now_s: float) -> float:
        """The part of a day's budgets that a request with as many pictures as of late costs; infinite: it is not paid.

        Of several budgets it is the sum of the parts, as each can be spent once only.
        """
        if self.paid(now_s).get(model, inf) < 1:
            return inf
        pictures = max(1, round(self._pictures))
        drawn = self._drawn.get(model, ())
        return sum(self._cost(model, budget, pictures) / budget.terms.per_day.value for budget in drawn)

    def reserve(self, model: str, pictures: int, now_s: float) -> list[Charge]:
        """Set aside what a call may cost; ``pay`` must follow. BudgetSpent where a budget does not pay for it.

        Each call is a request in the sense of Algorithm 4.1, whichever model it is for.
        """
        self._pictures += NEWEST * (pictures - self._pictures)
        for budget in self._budgets if self._has_share else ():
            budget.begins(self.node, now_s, self._dearest(budget))
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

    def loaded(self, model: str, work: CallWork, now_s: float) -> None:
        """Pay for loading a model, which is expected to come again as often as it did."""
        for budget in self._drawn.get(model, ()):
            cost = _price(budget, work)
            budget.pay(self.node, model, 0.0, cost)
            budget.loaded(self.node, cost, now_s)

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
