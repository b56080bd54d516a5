"""Selection without naming a model: from requirements to the variant that meets them (Romero et al., 2021, §4.1). Pure.

The one that is loaded and done soonest is taken; where none meets the requirements that which comes closest, with the
reason. ``sluice models select`` asks it; frames are planned in ``pipelines/planning``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from serving.errors import BadInput
from serving.scheduling.estimates import LatencyTable
from serving.variants.profiles import Profile

SHOWN = (("latency", 1000, " ms"), ("accuracy", -1, ""), ("cost", 1, ""))
"""The requirements as users read them: name, factor, unit."""

Bounds = tuple[float, float, float]
"""Latency, accuracy with the other sign, and cost: the less, the better."""


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

    @property
    def bounds(self) -> Bounds:
        return self.latency_s, -self.accuracy, self.cost


@dataclass(frozen=True, slots=True)
class VariantRecord:
    """A variant as its profile shows it."""

    id: str
    latency_s: float
    """Latency of a batch as large as the user's."""
    load_s: float
    """Time to load it."""
    accuracy: float
    """Agreement with the reference, which needs no labels, or the share of right answers."""
    cost: float
    """The device's time for one item at the variant's best batch, in seconds."""

    @property
    def bounds(self) -> Bounds:
        return self.latency_s, -self.accuracy, self.cost

    def shortfall(self, asked: Requirements) -> float:
        """The sum of relative distances from the requirements that it does not meet; 0 where it meets all."""
        pairs = zip(self.bounds, asked.bounds, strict=True)
        return sum((has - most) / abs(most) for has, most in pairs if has > most)


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """A variant, and whether it meets the requirements."""

    variant: str
    meets: bool
    reason: str = field(repr=False, compare=False)
    """Why it was taken, in one line."""


def record_of(profile: Profile, batch: int = 1) -> VariantRecord:
    """``batch``: as large as the user's. Accuracy is the agreement with the reference."""
    best_item_s = min(seconds / items for items, seconds in profile.latency_s.items())
    latency_s = LatencyTable(profile.latency_s)(batch)
    return VariantRecord(profile.variant, latency_s, profile.load_s, profile.agreement, best_item_s)


def select(asked: Requirements, variants: Sequence[VariantRecord]) -> VariantChoice:
    """The variant for these requirements, the first of equals; BadInput where there is none to choose from."""
    if not variants:
        raise BadInput("there is no variant to choose from: register a model and profile it")
    if meeting := [each for each in variants if each.shortfall(asked) == 0]:
        chosen = min(meeting, key=lambda each: each.load_s + each.latency_s)
        return VariantChoice(chosen.id, True, "of the variants that meet the requirements this one is ready soonest")
    chosen = min(variants, key=lambda each: each.shortfall(asked))
    lacks = "; ".join(_lacks(asked, chosen, variants))
    return VariantChoice(chosen.id, False, f"no variant meets all requirements; of the closest the {lacks}")


def _lacks(asked: Requirements, chosen: VariantRecord, variants: Sequence[VariantRecord]) -> Iterator[str]:
    """For each requirement that the variant misses: by how much, and the best value there is."""
    best = map(min, zip(*(each.bounds for each in variants), strict=True))
    rows = zip(SHOWN, chosen.bounds, asked.bounds, best, strict=True)
    for (what, factor, unit), has, most, least in rows:
        if has > most:
            mine, wanted, there = (f"{factor * each:.4g}{unit}" for each in (has, most, least))
            gap, side = f"{abs(factor) * (has - most):.3g}{unit}", "above" if factor > 0 else "below"
            yield f"{what} of {mine} is {gap} {side} {wanted} (best: {there})"
