"""Who decides for each request of a day: the product's budgets, the paper's rule as it stands, a straw man, and two who
know the whole day beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import linprog

from benchmarks.budgets_parts.day import DAY_S, PLACES, Asked, Place
from benchmarks.budgets_parts.offers import Offer, choose
from serving.budgets.day_budget import DayBudget
from serving.budgets.frequency import Frequency
from serving.budgets.node_spending import NodeSpending
from serving.budgets.prices import Amount, CallWork, Prices
from serving.budgets.shares import Requester, per_request
from serving.budgets.terms import BudgetTerms, DayRule
from tests.serving.budgets.memory_ledger import MemoryLedger

MIDNIGHT = datetime(2026, 6, 1, tzinfo=UTC)
BY_NAME = {each.model: each for each in PLACES}


@dataclass(frozen=True, slots=True)
class Budgets:
    """Those of a day: processor seconds of this machine, which its energy is proportional to, and calls."""

    processor_s: float
    calls: float


@dataclass(frozen=True, slots=True)
class Served:
    """The day's end."""

    accuracy: float
    """Mean over all requests; one that nobody served counts as wrong."""
    processor_s: float
    calls: float


Decider = Callable[[Sequence[Sequence[Asked]], Budgets], list[Served]]
"""The ends of days that follow each other; each has the same budgets."""


def by_budgets(days: Sequence[Sequence[Asked]], budgets: Budgets) -> list[Served]:
    """The product: ``NodeSpending`` over two budgets of a day."""
    now_s = 0.0

    def budget(holder: str, amount: Amount, prices: Prices) -> DayBudget:
        terms = BudgetTerms(holder, amount, prices, DayRule())
        return DayBudget(terms, MemoryLedger(), lambda: MIDNIGHT + timedelta(seconds=now_s))

    own = budget("node type", Amount(budgets.processor_s, "EUR"), Prices("EUR", per_processor_s=1.0))
    gpu = budget("backend gpu", Amount(max(budgets.calls, 1e-9), "calls"), Prices("calls"))
    backends = {each.model: "gpu" if each.calls else None for each in PLACES}
    node = NodeSpending("type", backends, {"node type": own, "backend gpu": gpu}, _work)
    found = []
    for number, asked in enumerate(days):
        served = list[Place]()
        for each in asked:
            now_s = number * DAY_S + each.at_s
            paid = node.paid(now_s)
            taken = next(place for place in each.places if paid[place.model] >= 1)
            node.pay(taken.model, node.reserve(taken.model, 1, now_s), _work(taken.model, 1))
            served.append(taken)
        found.append(_summed(served, len(asked)))
    return found


def by_shares(days: Sequence[Sequence[Asked]], budgets: Budgets) -> list[Served]:
    """Algorithm 4.1 as it stands: what a request leaves of its share is saved for nobody."""
    often, found = Frequency(0.0), []
    for number, asked in enumerate(days):
        left, served = {"own": budgets.processor_s, "gpu": budgets.calls}, list[Place]()
        for each in asked:
            often.asked(number * DAY_S + each.at_s)
            requester = Requester(often.at(number * DAY_S + each.at_s))
            shares = {name: per_request(amount, DAY_S - each.at_s, requester) for name, amount in left.items()}
            offers = [Offer(p.model, "", p.accuracy, {"own": p.processor_s, "gpu": p.calls}) for p in each.places]
            chosen = choose(offers, shares)
            taken = PLACES[-1] if chosen is None else BY_NAME[chosen.variant]
            left["own"], left["gpu"] = left["own"] - taken.processor_s, left["gpu"] - taken.calls
            served.append(taken)
        found.append(_summed(served, len(asked)))
    return found


def server_first(asked: Sequence[Asked], budgets: Budgets) -> Served:
    """The paper's straw man: the other machine while it can be had, else the best network here, until all is spent."""
    left_s, calls, served = budgets.processor_s, budgets.calls, list[Place]()
    for each in asked:
        taken = PLACES[0] if each.connected and calls >= 1 else PLACES[1]
        if taken.processor_s <= left_s:
            left_s, calls = left_s - taken.processor_s, calls - taken.calls
            served.append(taken)
    return _summed(served, len(asked))


def static(asked: Sequence[Asked], budgets: Budgets) -> Served:
    """One place for the day, and one for when the other machine is away: the best that the day turns out to pay."""
    reached = sum(each.connected for each in asked)
    best = Served(0.0, 0.0, 0.0)
    for there, here in product(PLACES, PLACES[1:]):
        found = _summed([there] * reached + [here] * (len(asked) - reached), len(asked))
        if found.processor_s <= budgets.processor_s and found.calls <= budgets.calls:
            best = max(best, found, key=lambda each: each.accuracy)
    return best


def optimal(asked: Sequence[Asked], budgets: Budgets) -> Served:
    """The linear programme over the whole day (Equations 4.1 to 4.3), which knows all requests."""
    reached = sum(each.connected for each in asked)
    options = [(place, True) for place in PLACES] + [(place, False) for place in PLACES[1:]]
    accuracy = np.array([place.accuracy for place, _ in options])
    costs = np.array([[place.processor_s for place, _ in options], [float(place.calls) for place, _ in options]])
    ways = np.array([[1.0 if is_reached else 0.0 for _, is_reached in options] for _ in range(2)])
    ways[1] = 1 - ways[1]
    limits = [budgets.processor_s, budgets.calls]
    found = linprog(-accuracy, A_ub=costs, b_ub=limits, A_eq=ways, b_eq=[reached, len(asked) - reached])
    if found.x is None:
        return Served(0.0, 0.0, 0.0)
    return Served(float(accuracy @ found.x) / len(asked), float(costs[0] @ found.x), float(costs[1] @ found.x))


def _each(
    decide: Callable[[Sequence[Asked], Budgets], Served], days: Sequence[Sequence[Asked]], budgets: Budgets
) -> list[Served]:
    return [decide(asked, budgets) for asked in days]


DECIDERS: Mapping[str, Decider] = {
    "budgets": by_budgets,
    "shares alone": by_shares,
    "static": partial(_each, static),
    "server first": partial(_each, server_first),
    "optimal": partial(_each, optimal),
}


def _work(model: str, pictures: int) -> CallWork:
    place = BY_NAME[model]
    return CallWork(calls=float(place.calls), processor_s=place.processor_s * pictures)


def _summed(served: Sequence[Place], asked: int) -> Served:
    return Served(
        sum(each.accuracy for each in served) / max(1, asked),
        sum(each.processor_s for each in served),
        float(sum(each.calls for each in served)),
    )
