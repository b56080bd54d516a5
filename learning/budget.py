"""The budget of learning: the one bound on what finding shortcuts, making them and checking them may cost. Pure.

Trainings, audits in the background, opening a network with cuts and taking samples are paid before it is known whether
they bring anything. Together they may cost a share of the processor seconds that the process has used, and of the
seconds that answers of other machines took. What takes a while, as a training, is not begun before ``FIRST_S`` were
used: a process that ends soon would not see the gain. Where it has to wait for its seconds, they are saved up: samples,
of which there are always more, give way to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, MutableMapping
from typing import Literal

Expense = Literal["training", "audits", "opening", "samples"]
Spent = MutableMapping[Expense, float]
"""Seconds by what they were spent on."""

SHARE = 0.05
"""The share where the query names none."""
FIRST_S = 20.0
"""Processor seconds of the process before which nothing is begun that takes a while."""
SAVES_S = 20.0
"""Seconds of use for which it is saved up for work that does not ask again."""


class Budget:
    """Work asks before it begins and says afterwards what it has cost.

    >>> used_s = 19.0
    >>> budget = Budget(0.05, lambda: used_s)
    >>> budget.may_spend(0.1), budget.reserve(0.1)
    (True, False)
    >>> used_s = 30.0
    >>> budget.may_spend(1.5), budget.may_spend(1.6)
    (True, False)
    >>> budget.spend("audits", 1.25)
    >>> budget.reserve(0.5), budget.may_spend(0.1), budget.may_spend(0.1, gives_way=True)
    (False, True, False)
    >>> budget.reserve(0.25), budget.left_s
    (True, 0.0)
    """

    def __init__(self, share: float, used_s: Callable[[], float], spent: Spent | None = None) -> None:
        """``share``: may be spent of what is used; 0: nothing ever.

        ``used_s``: processor seconds that the process has used so far, as ``time.process_time`` tells them.
        ``spent``: of these, by all budgets of the process; None: it has one.
        """
        self.share, self._used_s = share, used_s
        self._elsewhere_s = 0.0
        self._spent: Spent = {} if spent is None else spent
        self._reserved_s = 0.0
        self._saved_for_s, self._saved_at_s = 0.0, 0.0
        """Seconds that could not be set aside of late, and those that were used by then."""

    @classmethod
    def beside(cls, share: float, used_s: Callable[[], float], spent: Spent | None = None) -> Budget:
        """A budget of ``share`` of what all the rest of the process uses: the whole uses at most 1 + ``share`` of that.

        Let u be used, o by the rest, p spent: u ≤ o + p and p ≤ share / (1 + share) · u, so p ≤ share · o.
        """
        return cls(share / (1 + share), used_s, spent)

    @property
    def used_s(self) -> float:
        """Seconds that were used so far, here and elsewhere."""
        return self._used_s() + self._elsewhere_s

    @property
    def left_s(self) -> float:
        """Seconds that may be spent now; below 0 where work has cost more than was estimated."""
        return self.share * self.used_s - self.spent_s - self._reserved_s

    @property
    def spent_s(self) -> float:
        return sum(self._spent.values())

    @property
    def spent(self) -> Mapping[Expense, float]:
        """Seconds spent, by what they were spent on."""
        return self._spent

    def used_elsewhere(self, seconds: float) -> None:
        """Note seconds that answers of another machine took, which shortcuts here may come to spare."""
        self._elsewhere_s += seconds

    def may_spend(self, estimate_s: float, gives_way: bool = False) -> bool:
        """Whether work of about so many seconds may begin; where none are left, not even work that costs nothing.

        ``gives_way``: whether it has to leave what work that takes a while is waiting for.
        """
        left_s = self.left_s
        is_saving = gives_way and self.used_s - self._saved_at_s <= SAVES_S
        return left_s > 0 and estimate_s <= left_s - (self._saved_for_s if is_saving else 0.0)

    def spend(self, kind: Expense, seconds: float) -> None:
        """Note what work has cost that is over at once."""
        self._spent[kind] = self._spent.get(kind, 0.0) + seconds

    def may_reserve(self, estimate_s: float) -> bool:
        """Whether so many seconds can be set aside now for work that takes a while; if not, they are saved up."""
        if self.used_s < FIRST_S:
            return False
        if self.may_spend(estimate_s):
            self._saved_for_s = 0.0
            return True
        self._saved_for_s, self._saved_at_s = estimate_s, self.used_s
        return False

    def reserve(self, estimate_s: float) -> bool:
        """Set seconds aside for work that takes a while, if there are so many; ``pay`` must follow."""
        if not self.may_reserve(estimate_s):
            return False
        self._reserved_s += estimate_s
        return True

    def pay(self, kind: Expense, estimate_s: float, seconds: float) -> None:
        """Note that work for which ``estimate_s`` were set aside is over, or given up, and has cost so many seconds."""
        self._reserved_s = max(0.0, self._reserved_s - estimate_s)
        self.spend(kind, seconds)


def unlimited() -> Budget:
    """A budget that allows everything, for those who want results whatever they cost."""
    return Budget(1.0, lambda: math.inf)
