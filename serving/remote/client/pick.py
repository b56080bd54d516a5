"""Which of several servers is asked: the less busy of two that are drawn at random (Mitzenmacher, 2001).

It comes close to asking the least busy of all, and clients that know the same do not all run to the same server. Where
a placement gives servers parts of the load, both the draw and what counts as busy go by these parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

UNKNOWN_QUEUE = 0


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """The work that a server is known to have."""

    in_flight: int
    """Calls of this process that it has not answered."""
    queue: int = UNKNOWN_QUEUE
    """Items that waited at it when it answered last, of all its clients; servers of others do not tell."""

    @property
    def waiting(self) -> int:
        return self.in_flight + self.queue


def pick(loads: Sequence[ServerLoad], rng: Random, parts: Sequence[float] = ()) -> int:
    """The place in the list of the server to ask; of two as busy the first drawn. At least one is needed.

    ``parts``: of the load, above 0, one for each; empty: all are equal.

    >>> busy, idle = ServerLoad(3, 8), ServerLoad(0, 1)
    >>> pick([busy, idle], Random(1)), pick([idle, busy], Random(1)), pick([busy], Random(1))
    (1, 0, 0)
    """
    if len(loads) == 1:
        return 0
    if not parts:
        one, other = rng.sample(range(len(loads)), 2)
        return one if loads[one].waiting <= loads[other].waiting else other
    one, other = rng.choices(range(len(loads)), parts, k=2)
    # The call itself counts: of two without any the one with the larger part is the less busy one.
    return one if (loads[one].waiting + 1) / parts[one] <= (loads[other].waiting + 1) / parts[other] else other


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
