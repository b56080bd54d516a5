"""A simulated day: when vehicles come, when the other machine can be reached, what each place of a model costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

DAY_S = 86_400.0
PER_S = ((0, 0.01), (5, 0.05), (7, 0.4), (9, 0.15), (16, 0.5), (19, 0.1), (22, 0.02))
"""Vehicles a second, each from an hour on: nights, two rush hours."""
AWAY = ((2.0, 4.0), (8.0, 9.0), (17.0, 17.5))
"""Hours in which the other machine cannot be reached."""


@dataclass(frozen=True, slots=True)
class Place:
    """A variant at a place."""

    model: str
    accuracy: float
    processor_s: float
    """Processor seconds of this machine, for one picture."""
    calls: int = 0


PLACES = (
    Place("vehicle-type on gpu", 0.928, 0.0005, 1),
    Place("vehicle-type", 0.928, 0.0073112),
    Place("vehicle-type@openvino-int8", 0.928 * 0.9984, 0.0039982),
    Place("vehicle-type-compact", 0.798, 0.0010628),
)
"""Best first. Accuracies by the cards, of int8 by its agreement; times by ``results/engines.csv``, one picture; sending
one takes .5 ms (``serving/remote/router.py``)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    at_s: float
    connected: bool

    @property
    def places(self) -> Sequence[Place]:
        """Those that can answer it."""
        return PLACES if self.connected else PLACES[1:]


def requests(seed: int = 0, scale: float = 1.0) -> list[Asked]:
    """A day of them, at random times; ``scale``: of the rates."""
    rng, at_s, found = Random(seed), 0.0, list[Asked]()
    most = max(rate for _, rate in PER_S) * scale
    while (at_s := at_s + rng.expovariate(most)) < DAY_S:
        hour = at_s / 3600
        rate = [each for begin, each in PER_S if begin <= hour][-1] * scale
        if rng.random() * most < rate:
            found.append(Asked(at_s, not any(begin <= hour < end for begin, end in AWAY)))
    return found
