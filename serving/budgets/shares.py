"""MCDNN's approximate model scheduler: the share of what is left that each request may cost (Shen, 2019, §4.3.3,
Algorithm 4.1). Pure.

``e``: what is left of a budget, ``T``: seconds until its end. A request for model n comes ``f_n`` times a second, and
its share is e_n = e · f_n / (T · Σ f_i²): requests that come more often get more, and all shares together are e, as
model i is used T · f_i times (Lines 16–21). A planner takes the most accurate variant whose costs their shares cover
(Lines 10–13: ``NodeSpending``). No request is split between places (Line 20), nor is a network that has to be loaded
bounded by how long that takes (Lines 24–25): frames have deadlines. Two things are not the paper's: a place may draw on
any number of budgets, and what a request leaves of its share can be saved for the next ones (``saved``), since between
a variant that is always covered and one that never is, the shares of all but the day's last requests would lie idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Requester:
    """One model of those that draw on a budget, in the paper's sense: whichever of its variants runs."""

    frequency: float
    """f_n: requests a second."""
    load_cost: float = 0.0
    """Δe_n: the cost of loading it."""
    loaded_s: float = inf
    """Δt_n: seconds since it was loaded; infinite where it is not, so that nothing is set aside."""


def per_request(left: float, until_s: float, requester: Requester, others: Sequence[Requester] = ()) -> float:
    """RESPERREQ (Line 18): the share of one request, 0 or more; ``others``: those that draw on the same budget.

    >>> hourly = Requester(frequency=2.0)
    >>> per_request(100.0, 50.0, hourly), per_request(100.0, 50.0, hourly, [Requester(1.0)])
    (1.0, 0.8)
    >>> per_request(100.0, 50.0, Requester(2.0, load_cost=1.0, loaded_s=5.0))
    0.9
    """
    squares = requester.frequency**2 + sum(each.frequency**2 for each in others)
    if squares <= 0 or until_s <= 0:
        return max(left, 0.0)
    reloading = requester.load_cost * until_s / requester.loaded_s if requester.loaded_s > 0 else left
    return max(left - reloading, 0.0) * requester.frequency / (until_s * squares)


def saved(before: float, share: float, most: float) -> float:
    """The most that a request may cost: its share, and what those before it have left, up to a bound.

    >>> saved(0.4, 0.5, 2.0), saved(1.8, 0.5, 2.0), saved(-1.0, 0.5, 2.0)
    (0.9, 2.0, -0.5)
    """
    return min(before + share, max(most, share))
