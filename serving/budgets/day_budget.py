"""One budget of a day: what was spent on what, what is left, and what the next request may cost. Pure: the ledger and
the time are arguments.

A call's estimated cost is reserved before it is made, and its real cost paid afterwards, whatever becomes of it:

    if not budget.reserve(node, estimate):
        raise BudgetSpent(budget.refusal(model, estimate))
    cost = 0.0
    try:
        …  # the call, which says its cost
    finally:
        budget.pay(node, model, estimate, cost)

A reservation of more than is left is refused, so that a day's budget is exceeded by no more than the errors of the
estimates of calls in flight: who does not know a cost before reserves that of the dearest call so far. Nodes whose
calls ``begin`` share the day by Algorithm 4.1, and are refused also what their share does not cover; a caller that
never says so, such as one that is asked seldom, is bounded by the day alone. ``close`` gives back what was
not spent. All is called on one thread, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from math import inf

from serving.budgets.frequency import Frequency
from serving.budgets.shares import Requester, per_request, saved
from serving.budgets.terms import FURTHER, MOST_NAMED, BudgetReport, BudgetStanding, BudgetTerms, DayLedger, Settlement
from serving.common.clock import Clock

LEASES = 200
"""A process takes a day's budget from the ledger in so many parts: one that is killed loses one of them at most."""
SAVED_REQUESTS = 60
"""A request may cost what so many before it have saved."""
ROUNDING = 1e-9
"""Share of a day's budget by which sums of many costs may be wrong."""
ASKED_AGAIN_S = 60.0
"""A process that finds the day taken asks the ledger so often whether another has given back."""


@dataclass(slots=True)
class _Spender:
    """A node that draws on the budget."""

    frequency: Frequency
    saved: float = 0.0
    load_cost: float = 0.0
    loaded_at_s: float = -inf


class DayBudget:
    """One for a process and a holder."""

    def __init__(self, terms: BudgetTerms, ledger: DayLedger, now: Callable[[], datetime]) -> None:
        """``now``: the time of day."""
        self.terms, self._ledger, self._now = terms, ledger, now
        self._day, self._settled = terms.day.begin(now()), now()
        self._lease = self._reserved = 0.0
        """Taken from the ledger and not spent yet, and set aside for calls that are under way."""
        self._untold: dict[str, float] = {}
        self._spent: dict[str, float] = {}
        self._spenders: dict[str, _Spender] = {}
        self._known = self._settle(0.0)

    @property
    def left(self) -> float:
        """The part of the day's budget that is not reserved; other processes may take it first."""
        self._turn()
        return max(self.terms.per_day.value - self._known.taken + self._lease - self._reserved, 0.0)

    @property
    def until(self) -> datetime:
        return self.terms.day.end(self._day)

    def may_cost(self, node: str, now_s: float, dearest: float) -> float:
        """The most that a call of the node may cost, if it is made now.

        ``dearest``: the cost of a call of the dearest of its models, for which a node can save in any case.
        """
        return min(self._purse(node, now_s, dearest), self.left)

    def begins(self, node: str, now_s: float, dearest: float) -> float:
        """A node is about to make a call, which is a request; returns what it may cost."""
        spender = self._spender(node, now_s)
        spender.saved = self._purse(node, now_s, dearest)
        spender.frequency.asked(now_s)
        return min(spender.saved, self.left)

    def loaded(self, node: str, cost: float, now_s: float) -> None:
        """A network of a node was loaded, which costs so much each time."""
        spender = self._spender(node, now_s)
        spender.load_cost, spender.loaded_at_s = cost, now_s

    def refusal(self, model: str, estimate: float) -> str:
        """Why a call is not paid for."""
        if estimate > self.left:
            return f"{model}: {self.terms} is spent until {self.until:%Y-%m-%d %H:%M %Z}"
        return f"{model}: {self.terms} does not pay for it now: its share of the day is used up"

    def reserve(self, node: str, estimate: float) -> bool:
        """Set aside what a call is estimated to cost, if so much is left; ``pay`` must follow where it is."""
        if estimate <= 0:
            return True
        slack, spender = ROUNDING * self.terms.per_day.value, self._spenders.get(node)
        if estimate > self.left + slack or (spender is not None and estimate > spender.saved + slack):
            return False
        self._reserved += estimate
        self._cover()
        if self._reserved > self._lease + slack:  # another process was faster
            self._reserved -= estimate
            return False
        if spender is not None:
            spender.saved -= estimate
        return True

    def pay(self, node: str, model: str, estimate: float, cost: float) -> None:
        """Note what a call for which ``estimate`` was reserved has cost; 0 for one that was not made."""
        self._turn()
        estimate = max(estimate, 0.0)
        self._reserved = max(self._reserved - estimate, 0.0)
        if node in self._spenders:
            self._spenders[node].saved += estimate - max(cost, 0.0)
        if cost <= 0:
            return
        self._lease -= cost
        for told in (self._untold, self._spent):
            name = model if model in told or len(told) < MOST_NAMED else FURTHER
            told[name] = told.get(name, 0.0) + cost
        self._cover()

    def close(self) -> None:
        """Give back what was taken of this day and not spent."""
        self._turn()
        self._known, self._lease = self._settle(-self._lease), 0.0

    def report(self) -> BudgetReport:
        """How the budget stands now."""
        left, today = self.left, dict(self._known.spent)
        for model, cost in self._untold.items():
            today[model] = today.get(model, 0.0) + cost
        terms = self.terms
        return BudgetReport(
            terms.holder,
            terms.per_day.unit,
            terms.per_day.value,
            dict(self._spent),
            today,
            left,
            self.until.isoformat(),
        )

    def _spender(self, node: str, now_s: float) -> _Spender:
        """A query's nodes are few, and known before it runs."""
        if node not in self._spenders:
            self._spenders[node] = _Spender(Frequency.going_on(now_s, self._known.asked.get(node)))
        return self._spenders[node]

    def _purse(self, node: str, now_s: float, dearest: float) -> float:
        """A node's savings with the share of one more request; debts are bounded as savings are."""
        spender = self._spender(node, now_s)
        share = self._share(node, now_s)
        most = max(SAVED_REQUESTS * share, dearest)
        return max(saved(spender.saved, share, most), -most)

    def _share(self, node: str, now_s: float) -> float:
        requesters = {name: _requester(each, now_s, name == node) for name, each in self._spenders.items()}
        one = requesters.pop(node)
        return per_request(self.left, self.terms.day.left_s(self._now()), one, list(requesters.values()))

    def _cover(self) -> None:
        """Take more of the day where what was taken is too little, if there is more."""
        short = self._reserved - self._lease
        if short > 0 and self._known.taken < self.terms.per_day.value:
            self._known = self._settle(max(short, self.terms.per_day.value / LEASES))
            self._lease += self._known.granted

    def _settle(self, change: float) -> BudgetStanding:
        told, self._untold, self._settled = self._untold, {}, self._now()
        asked = {node: each.frequency.kept for node, each in self._spenders.items()}
        return self._ledger.settle(Settlement(self.terms.key, self._day, change, self.terms.per_day.value, told, asked))

    def _turn(self) -> None:
        """Begin the next day once it has come; a clock that is set back changes nothing."""
        now = self._now()
        day = self.terms.day.begin(now)
        if day <= self._day:
            if self._known.taken >= self.terms.per_day.value and self._is_long_ago(now):
                self._known = self._settle(0.0)
            return
        self._day, self._lease, self._untold = day, 0.0, {}
        for spender in self._spenders.values():
            spender.saved = 0.0
        self._known = self._settle(0.0)

    def _is_long_ago(self, now: datetime) -> bool:
        """Whether the ledger was asked so long ago that it may be asked again, by whatever clock."""
        return abs((now - self._settled).total_seconds()) >= ASKED_AGAIN_S


def _requester(spender: _Spender, now_s: float, asks: bool) -> Requester:
    """``asks``: one request more than were made."""
    return Requester(spender.frequency.at(now_s, asks), spender.load_cost, now_s - spender.loaded_at_s)


TOLD_S = 1.0
"""The least time between two reports of a budget."""


class BudgetTeller:
    def __init__(self, budgets: Collection[DayBudget], clock: Clock, told: Callable[[BudgetReport], None]) -> None:
        self._budgets, self._clock, self._told = budgets, clock, told
        self._told_s = -inf

    def called(self) -> None:
        """A budget may have been drawn on; must be called after each call."""
        now_s = self._clock.monotonic_s()
        if now_s - self._told_s >= TOLD_S:
            self._told_s = now_s
            self._tell()

    def close(self) -> None:
        """Give back what was not spent, and tell how all budgets stand."""
        for budget in self._budgets:
            budget.close()
        self._tell()

    def _tell(self) -> None:
        for budget in self._budgets:
            self._told(budget.report())
