"""The figures of specialization, as they are published."""

from __future__ import annotations

import msgspec

from operators.recognise.shortcuts.shortcut import Standing
from operators.wire import schema
from specialization.timeline import Timeline

DIGITS = 4


def specialization(timeline: Timeline, standing: Standing) -> schema.Specialization:
    """Combine the figures over time with the stream's present standing."""
    found = timeline.statistics(standing.template_cost)
    return schema.Specialization(
        phase=standing.phase,
        epoch=standing.epoch,
        template=standing.template,
        classes=list(standing.classes),
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
