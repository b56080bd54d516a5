"""The budget for finding out whether work can be saved, so that finding out never costs more than it saves. Pure.

Samples, features that are computed for later, shadows, training, profiling and audits are paid before it is known
whether they bring anything. They may together cost a small share of the processor seconds that the process has used,
and a share of what shortcuts have saved. Let u be the seconds used, p those spent so, s the net savings, o what the
oracle alone would have used: u = o − s + p, and p ≤ a·u + b·s with a = ``SHARE``, b = ``REINVESTED``. So
u ≤ (o − (1 − b)·s) / (1 − a) ≤ o / (1 − a): whatever happens, the process uses at most 1.0152 times what the oracle
alone would have used. What shortcuts lose is counted as spent. What is not counted must fit between that and 1.02.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

Expense = Literal["samples", "shadow", "audits", "training", "profiling", "algorithm"]

SHARE = 0.015
"""a: may be spent of what the process has used."""
REINVESTED = 0.5
"""b: may be spent of the net savings."""


class Purse:
    """One for a process; its work asks before it begins and says afterwards what it has cost.

    >>> used_s = 100.0
    >>> purse = Purse(lambda: used_s)
    >>> purse.may_spend(1.4), purse.may_spend(1.6)
    (True, False)
    >>> purse.spend("training", 1.4)
    >>> purse.may_spend(0.2)
    False
    >>> purse.saved(1.0)
    >>> purse.may_spend(0.2)
    True
    """

    def __init__(self, used_s: Callable[[], float], share: float = SHARE, reinvested: float = REINVESTED) -> None:
        """``used_s``: processor seconds that the process has used so far, as ``time.process_time`` tells them."""
        self._used_s, self._share, self._reinvested = used_s, share, reinvested
        self._spent: dict[Expense, float] = {}
        self._saved_s = self._reserved_s = 0.0

    @property
    def left_s(self) -> float:
        """Seconds that may be spent now; below 0 where work has cost more than was estimated."""
        gain_s, loss_s = max(self._saved_s, 0.0), max(-self._saved_s, 0.0)
        allowed_s = self.income_s + self._reinvested * gain_s
        return allowed_s - self.spent_s - self._reserved_s - loss_s

    @property
    def income_s(self) -> float:
        """Seconds that the process's own use has earned so far, savings left out."""
        return self._share * self._used_s()

    @property
    def spent_s(self) -> float:
        return sum(self._spent.values())

    @property
    def saved_s(self) -> float:
        """The savings of shortcuts, their own networks deducted, expenses not; below 0 where they cost more."""
        return self._saved_s

    @property
    def spent(self) -> Mapping[Expense, float]:
        return self._spent

    def may_spend(self, estimate_s: float) -> bool:
        """Whether work of about so many seconds may begin; it is to be reported by ``spend`` at once."""
        return estimate_s <= self.left_s

    def spend(self, kind: Expense, seconds: float) -> None:
        self._spent[kind] = self._spent.get(kind, 0.0) + seconds

    def reserve(self, estimate_s: float) -> bool:
        """Set seconds aside for work that takes a while, if there are so many; ``pay`` must follow."""
        if not self.may_spend(estimate_s):
            return False
        self._reserved_s += estimate_s
        return True

    def pay(self, kind: Expense, estimate_s: float, seconds: float) -> None:
        """Work for which ``estimate_s`` were set aside is over and has cost so many seconds."""
        self._reserved_s = max(0.0, self._reserved_s - estimate_s)
        self.spend(kind, seconds)

    def saved(self, seconds: float) -> None:
        """A shortcut's answers have saved so much, its networks deducted; below 0: they cost more than the oracle."""
        self._saved_s += seconds


def unlimited() -> Purse:
    """A purse that allows everything, for those who want results whatever they cost."""
    return Purse(lambda: float("inf"))
