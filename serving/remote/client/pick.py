"""Which of several servers is asked: the less busy of two that are drawn at random (Mitzenmacher, 2001).

It comes close to asking the least busy of all, and clients that know the same do not all run to the same server. Where
a placement gives servers parts of the load, both the draw and what counts as busy go by these parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random


def pick(waiting: Sequence[int], rng: Random, parts: Sequence[float] = ()) -> int:
    """The place in the list of the server to ask; of two as busy the first drawn. At least one is needed.

    ``waiting``: the work that each is known to have: calls of this process that it has not answered, and items that
    waited there when it answered last. ``parts``: of the load, above 0, one for each; empty: all are equal.

    >>> pick([11, 1], Random(1)), pick([1, 11], Random(1)), pick([11], Random(1))
    (1, 0, 0)
    """
    if len(waiting) == 1:
        return 0
    if not parts:
        one, other = rng.sample(range(len(waiting)), 2)
        return one if waiting[one] <= waiting[other] else other
    one, other = rng.choices(range(len(waiting)), parts, k=2)
    # The call itself counts: of two without any the one with the larger part is the less busy one.
    return one if (waiting[one] + 1) / parts[one] <= (waiting[other] + 1) / parts[other] else other


Rates = Mapping[str, Mapping[str, float]]
"""By network and then by backend process: items per second that it is to serve."""


@dataclass(slots=True)
class PlacedRates:
    """The latest placement that this process has heard of; none at first."""

    epoch: int = 0
    rates: Rates = field(default_factory=dict)

    def take(self, epoch: int, rates: Rates) -> None:
        self.epoch, self.rates = epoch, rates

    def of(self, network: str) -> Mapping[str, float]:
        """The backends that serve a network; none where no placement speaks of it."""
        return self.rates.get(network, {})
