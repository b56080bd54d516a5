"""Selection without naming a model: from requirements to the variant that meets them (Romero et al., 2021, §4.1).

The least loaded Active variant that meets the requirements is taken; else the Inactive one that is loaded and done
soonest; else the one that comes closest, with the reason. Overloaded and Interfered variants are taken only where there
is no other. States and loads are the caller's to know.
"""

from __future__ import annotations

import numpy as np

from serving.scheduling.health import State
from serving.selection.closest import VariantChoice, closest
from serving.selection.table import Requirements, VariantTable


def select(requirements: Requirements, variants: VariantTable) -> VariantChoice:
    """The variant for these requirements; the first in the table where several are equally good."""
    meets = np.asarray((variants.rows <= requirements.at_most()).all(axis=0))
    for state, order, reason in (
        (State.ACTIVE, variants.load, "the least loaded of the active variants that meet the requirements"),
        (State.INACTIVE, variants.soonest_s, "no active variant meets the requirements; this one is ready soonest"),
    ):
        rows = np.flatnonzero(meets & variants.within[state])
        if len(rows):
            return VariantChoice(variants.ids[rows[order[rows].argmin()]], True, reason)
    return closest(requirements, variants, meets)
