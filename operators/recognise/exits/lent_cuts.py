"""Exits in front of an oracle on another machine: a network here lends its cuts, and what leaves nowhere crosses.

(Shen, 2019, §4.3.3, splits between device and cloud; there the layers before the split are the network's own.) What an
exit spares is a look there, counted in the seconds that one takes from here. What it costs is the lender's processor
time here, second for second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from learning.budget import Budget
from operators.recognise.audits.crossings import Crossings
from operators.recognise.exits.cut_oracle import CutOracle, LookSeconds
from operators.recognise.remote_reference import RemoteReference

if TYPE_CHECKING:
    from cache_adapt.learned.specs import ExitCut

NEEDED = 1000
"""Looks that it takes about, until exits answer."""
LENDER_S = 0.002
"""First guess of the processor seconds of a look by a lender."""


@dataclass(frozen=True)
class Lender:
    """A network of this machine."""

    model: str
    places: Callable[[], Sequence[ExitCut]]
    """Chooses its cuts, in a thread; ModelError where it cannot be cut."""
    weights_bytes: int = 0


class LentCuts(CutOracle):
    """One for a node."""

    def __init__(self, reference: RemoteReference, lender: Lender, budget: Budget, crossings: Crossings) -> None:
        super().__init__(reference, reference.model, lender.places, budget, lender.weights_bytes)
        self.network, self.crossings, self._reference = lender.model, crossings, reference

    @property
    def why_not(self) -> str | None:
        if self._fault is None and 0 < self.whole_s <= self.look_s:
            there_ms, here_ms = 1000 * self.whole_s, 1000 * self.look_s
            return f"a look of {self.oracle} takes {there_ms:.1f} ms, one of {self.network} takes {here_ms:.1f} ms here"
        return self._fault

    def why_none_yet(self, looks: int) -> str | None:
        return f"{looks} looks went to {self.oracle}: exits take {NEEDED} and more, which a quiet stream hardly has"

    @property
    def whole_s(self) -> float:
        """Seconds of one look of the oracle from here; 0 as long as that is not known."""
        return self._reference.look_s

    @property
    def look_s(self) -> float:
        """Processor seconds of one look by the lender, over looks of late."""
        names = (self._name, self.network) if self._name is not None else (self.network,)
        return next((found for name in names if (found := self.costs.look_s(name)) is not None), LENDER_S)

    @property
    def seconds(self) -> LookSeconds:
        return LookSeconds(self.look_s, self.whole_s)

    @property
    def trial_s(self) -> float:
        return self.look_s

    def beyond_s(self, answered: int, ended: int) -> float:
        return (answered + ended) * self.look_s

    def may_audit(self, looks: int) -> bool:
        return self.crossings.may_cross(self.oracle, looks)
