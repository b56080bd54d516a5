"""Where nothing meets the requirements: the variant that comes closest, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serving.variant_state import State
from serving.variant_table import Requirements, VariantTable, Vector

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Choice:
    """A variant, whether it meets the requirements, and why it was taken, in one line."""

    variant: str
    meets: bool
    reason: str


def closest(requirements: Requirements, variants: VariantTable, busy: Rows) -> Choice:
    """The least shortfall among those which may have work, or among all where none may; ``busy`` meet everything."""
    free = np.flatnonzero(variants.within[State.ACTIVE] | variants.within[State.INACTIVE])
    rows = free if len(free) else np.arange(len(variants.ids))
    row = int(rows[shortfall(requirements, variants)[rows].argmin()])
    if row in busy:
        return Choice(variants.ids[row], True, f"all are overloaded or interfered; this one is {_state(variants, row)}")
    lacks = "; ".join(_lacks(requirements, variants, rows, row))
    would = "".join(f"; {variants.ids[each]} would but is {_state(variants, each)}" for each in busy[:1])
    return Choice(variants.ids[row], False, f"no variant meets all requirements; of the closest the {lacks}{would}")


def shortfall(requirements: Requirements, variants: VariantTable) -> Vector:
    """How far each variant is from what is asked: the relative distances of all that it does not meet, added up."""
    distance: Vector = np.maximum(variants.latency_s / requirements.latency_s - 1, 0)
    distance += np.maximum(variants.cost / requirements.cost - 1, 0)
    if requirements.accuracy > 0:
        distance += np.maximum(1 - variants.accuracy / requirements.accuracy, 0)
    return distance


def _lacks(requirements: Requirements, variants: VariantTable, rows: Rows, row: int) -> Iterator[str]:
    """What one variant does not meet: by how much, and what the best there is has."""
    if variants.latency_s[row] > requirements.latency_s:
        column = 1000 * variants.latency_s
        yield _gap("latency", column[row], 1000 * requirements.latency_s, column[rows].min(), " ms")
    if variants.accuracy[row] < requirements.accuracy:
        yield _gap("accuracy", variants.accuracy[row], requirements.accuracy, variants.accuracy[rows].max())
    if variants.cost[row] > requirements.cost:
        yield _gap("cost", variants.cost[row], requirements.cost, variants.cost[rows].min())


def _gap(what: str, has: float, wanted: float, best: float, unit: str = "") -> str:
    side = "above" if has > wanted else "below"
    return (
        f"{what} of {has:.4g}{unit} is {abs(has - wanted):.3g}{unit} {side} {wanted:.4g}{unit} (best: {best:.4g}{unit})"
    )


def _state(variants: VariantTable, row: int) -> str:
    return variants.state[row].value
