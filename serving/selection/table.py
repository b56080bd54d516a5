"""Requirements on a variant, and the table of variants to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from serving.errors import BadInput
from serving.scheduling.health import State

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Requirements:
    """A user's requirements on a network; each has a default that everything meets."""

    latency_s: float = inf
    """At most."""
    accuracy: float = 0.0
    """At least, 0 to 1."""
    cost: float = inf
    """At most, per item, in the unit of the variants' costs."""

    def __post_init__(self) -> None:
        if not (self.latency_s > 0 and self.cost > 0 and 0 <= self.accuracy <= 1):
            raise BadInput(f"requirements: latency and cost must be above 0 and accuracy from 0 to 1, not {self}")

    def at_most(self) -> Vector:
        """Upper bounds on a variant's rows: latency, accuracy with the other sign, and cost; 3 × 1."""
        return np.array([[self.latency_s], [-self.accuracy], [self.cost]])


@dataclass(frozen=True, slots=True)
class VariantRecord:
    """A variant as selection sees it: what its profile says, and how it is now."""

    id: str
    latency_s: float
    """Latency of a batch as large as the user's."""
    load_s: float
    """Time to load it."""
    accuracy: float
    cost: float
    """Cost of one item, see ``records.py``."""
    state: State = State.INACTIVE
    load: float = 0.0
    """Share of its peak throughput that it serves."""


class VariantTable:
    """The variants to choose from, a column each."""

    def __init__(self, records: Sequence[VariantRecord]) -> None:
        """Raises BadInput where there is none."""
        if not records:
            raise BadInput("there is no variant to choose from: register a model and profile it")
        self.ids = [each.id for each in records]
        self.rows = np.array([[each.latency_s, -each.accuracy, each.cost] for each in records]).T.copy()
        self.soonest_s = np.array([each.load_s + each.latency_s for each in records])
        self.state = [each.state for each in records]
        self.within = {state: np.array([each.state is state for each in records]) for state in State}
        self.load = np.array([each.load for each in records])
