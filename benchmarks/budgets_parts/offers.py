"""The choice of Algorithm 4.1 as the paper has it: the variant and the place for one request (Shen, 2019, §4.3.3).

The product's planner chooses among the models that ``NodeSpending`` says are paid for; it is held against this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf


@dataclass(frozen=True, slots=True)
class Offer:
    """A variant of a model at a place."""

    variant: str
    place: str
    accuracy: float
    costs: Mapping[str, float] = field(default_factory=dict)
    """Its cost by budget; budgets that are not named are not drawn on."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """t_n: the part of the network that runs at a budget's place, where it is split (Line 20); else 1."""

    def is_covered(self, shares: Mapping[str, float]) -> bool:
        """Whether every budget's share covers its cost."""
        return all(cost <= shares.get(budget, inf) * self.parts.get(budget, 1.0) for budget, cost in self.costs.items())


def choose(offers: Sequence[Offer], shares: Mapping[str, float]) -> Offer | None:
    """Lines 11–13: the offer of the greatest accuracy that the shares cover; None where they cover none.

    Of equally accurate ones that which leaves the most of the scarcest share.
    """
    covered = [each for each in offers if each.is_covered(shares)]
    return max(covered, key=lambda each: (each.accuracy, -_strain(each, shares)), default=None)


def _strain(offer: Offer, shares: Mapping[str, float]) -> float:
    """The greatest part of a share that an offer takes."""
    used = (cost / shares[budget] if shares.get(budget) else inf for budget, cost in offer.costs.items() if cost > 0)
    return max(used, default=0.0)
