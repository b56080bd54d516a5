"""What specialization did, as it is published."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from operators import schema
from specialization.timeline import Timeline
from specialization.weg_state import WegState

DIGITS = 4


def specialization(
    timeline: Timeline, state: WegState, labels: Sequence[str], template_cost: float
) -> schema.Specialization:
    """``labels``: by class; ``template_cost``: one run of the compact network as a share of the oracle's."""
    found = timeline.statistics(template_cost)
    target = state.head.target if state.head else None
    return schema.Specialization(
        phase=state.phase,
        epoch=state.epoch,
        template=target.template if target else None,
        classes=[labels[each] for each in target.classes] if target else [],
        special_rate=round(found.special_rate, DIGITS),
        cascade_rate=_rounded(found.cascade_rate),
        transitions=found.transitions,
        mean_dominant=_rounded(found.mean_dominant),
        mean_window=_rounded(found.mean_window),
        saving=_rounded(found.saving),
        speedup=_rounded(found.speedup),
        **msgspec.structs.asdict(found.counts),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
