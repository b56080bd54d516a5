"""The accounts of a node's streams, and the purse from which all of them are paid."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from learning.account import Seconds
from learning.purse import Expense, Purse, unlimited
from operators.audits.unit_costs import UnitCosts

REMEMBERED_STREAMS = 1000
"""Number of accounts that are kept: those of the streams that were asked for last."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """One stream's account."""

    seconds: Seconds
    purse: Purse

    def spend(self, kind: Expense, seconds: float) -> None:
        """Something was done for this stream that may bring savings."""
        self.seconds.spend(kind, seconds)
        self.purse.spend(kind, seconds)

    def pay(self, kind: Expense, estimate_s: float, seconds: float) -> None:
        """The same, where ``estimate_s`` had been reserved in the purse."""
        self.seconds.spend(kind, seconds)
        self.purse.pay(kind, estimate_s, seconds)

    def answered(self, by_oracle: int, by_shortcuts: int, oracle_s: float, shortcuts_s: float) -> None:
        """Objects were looked at; see ``Seconds``."""
        self.seconds.answered(by_oracle, by_shortcuts, oracle_s, shortcuts_s)
        self.purse.saved(by_shortcuts * oracle_s - shortcuts_s)

    def hurried(self, seconds: float) -> None:
        """Answers came earlier at this cost; the purse does not pay it, since the query has asked for it."""
        self.seconds.early += seconds


class Books:
    """The ledgers by stream; those of streams that are gone stay for the report."""

    def __init__(self, oracle: str, costs: UnitCosts | None = None, purse: Purse | None = None) -> None:
        """Without ``costs`` nothing is known to cost anything; without ``purse`` everything may be spent."""
        self.purse = purse or unlimited()
        self.costs, self._oracle = costs, oracle
        self._ledgers: OrderedDict[str, Ledger] = OrderedDict()

    @property
    def oracle_s(self) -> float:
        """Processor seconds of one look of the oracle; 0 as long as that is not known."""
        return self.look_s(self._oracle)

    def look_s(self, model: str) -> float:
        """Processor seconds of one look of a model by itself; 0 as long as that is not known."""
        return (self.costs.look_s(model) if self.costs else None) or 0.0

    @property
    def income_s(self) -> float:
        """The purse's mean income for each look of the node, savings left out; 0 before the first."""
        alone_s = sum(ledger.seconds.alone for ledger in self._ledgers.values())
        return self.purse.income_s * self.oracle_s / alone_s if alone_s else 0.0

    def of(self, stream: str) -> Ledger:
        """Return a stream's ledger; an empty one for a new stream."""
        if stream not in self._ledgers:
            self.restore(stream, Seconds())
        self._ledgers.move_to_end(stream)
        return self._ledgers[stream]

    def restore(self, stream: str, seconds: Seconds) -> None:
        """Go on with an account that another worker has kept."""
        self._ledgers[stream] = Ledger(seconds, self.purse)
        if len(self._ledgers) > REMEMBERED_STREAMS:
            self._ledgers.popitem(last=False)
