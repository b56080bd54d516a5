"""How often the oracle agrees with itself about one object, and what ``accuracy`` can mean where that is not always.

Two conclusions about the same object, both sure, are compared. With b_k the probability that a sure conclusion about
an object is the word k, two of them agree with a probability of Σ b_k². Whatever else is compared with one of them
agrees with a probability of max b_k at most, and max b_k ≤ √(Σ b_k²). By Jensen's inequality the same holds for the
means over objects: nothing agrees with the oracle more often than √(self-agreement). Looks at one object resemble each
other, which makes the self-agreement that is found too great if anything: the bound holds the more.
"""

from __future__ import annotations

import math

from cache_adapt.audit.periods import PeriodLimits, Recent
from cache_adapt.audit.verdict import AgreementEstimate, estimate

ERROR = 0.05
LIMITS = PeriodLimits(audits=1000, objects=math.inf)
"""When there are so many comparisons, the older half is forgotten."""
STEP = 0.01
"""Targets are told in steps of this."""


class SelfAudit:
    """The oracle's agreement with itself, for one stream and node."""

    def __init__(self, state: Recent | None = None) -> None:
        """``state``: to go on with."""
        self.state = state or Recent()

    def tell(self, agrees: bool) -> None:
        """Two sure conclusions about one object were compared."""
        self.state = self.state.with_audit(agrees, LIMITS)
        if self.state.is_full(LIMITS):
            self.state = self.state.without_elder()

    def estimate(self) -> AgreementEstimate:
        return estimate(self.state.elder, ERROR)


def out_of_reach(accuracy: float, found: AgreementEstimate) -> bool:
    """Whether nothing can agree with such an oracle so often, at whatever time one looks."""
    return accuracy > math.sqrt(found.sequential.high)


def reachable(found: AgreementEstimate) -> float | None:
    """The greatest target that a shortcut as good as the oracle itself can be shown to keep; None: there is none.

    A shortcut can be shown in reasonable time to be good enough if it disagrees half as often as it may.
    """
    if found.agreement is None:
        return None
    target = math.floor((1 - 2 * (1 - found.agreement)) / STEP + 1e-9) * STEP
    return round(min(target, 1 - STEP), 2) if target > 0.5 else None
