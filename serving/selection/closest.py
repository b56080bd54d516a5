"""Chooses the closest variant where no free one meets the requirements, and says what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from serving.scheduling.health import State
from serving.selection.table import Requirements, VariantTable, Vector

SHOWN = (("latency", 1000, " ms"), ("accuracy", -1, ""), ("cost", 1, ""))
"""The rows of a table as users read them: name, factor, unit."""
SMALLEST = 1e-300
"""Stands for a requirement of 0, which everything meets."""


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """A variant, and whether it meets the requirements."""

    variant: str
    meets: bool
    reason: str = field(repr=False, compare=False)
    """Why it was taken, in one line."""


def closest(requirements: Requirements, variants: VariantTable, meets: NDArray[np.bool_]) -> VariantChoice:
    """Choose the least shortfall among the variants that may have work, or among all where none may."""
    free = np.flatnonzero(variants.within[State.ACTIVE] | variants.within[State.INACTIVE])
    among = free if len(free) else np.arange(len(variants.ids))
    chosen = int(among[shortfall(requirements, variants)[among].argmin()])
    name, state = variants.ids[chosen], variants.state[chosen].value
    if meets[chosen]:
        reason = f"all are overloaded or interfered; this one meets the requirements and is {state}"
        return VariantChoice(name, True, reason)
    why = "no variant meets all requirements"
    if len(busy := np.flatnonzero(meets)):
        why = f"{variants.ids[busy[0]]} would meet all requirements but is {variants.state[busy[0]].value}"
    lacks = "; ".join(_lacks(requirements, variants, among, chosen))
    return VariantChoice(name, False, f"{why}; of the closest the {lacks}")


def shortfall(requirements: Requirements, variants: VariantTable) -> Vector:
    """The sum of relative distances of each variant from the requirements that it does not meet."""
    asked = requirements.at_most()
    distance: Vector = np.maximum(variants.rows - asked, 0) / np.maximum(np.abs(asked), SMALLEST)
    total: Vector = distance.sum(axis=0)
    return total


def _lacks(requirements: Requirements, variants: VariantTable, among: NDArray[np.intp], chosen: int) -> Iterator[str]:
    """For each requirement that the variant misses: by how much, and the best value there is."""
    asked = requirements.at_most().ravel().tolist()
    has = variants.rows[:, chosen].tolist()
    best = variants.rows.take(among, axis=1).min(axis=1).tolist()
    for row, (what, factor, unit) in enumerate(SHOWN):
        if has[row] > asked[row]:
            mine, wanted, there = (f"{factor * each[row]:.4g}{unit}" for each in (has, asked, best))
            gap, side = f"{abs(factor) * (has[row] - asked[row]):.3g}{unit}", "above" if factor > 0 else "below"
            yield f"{what} of {mine} is {gap} {side} {wanted} (best: {there})"
