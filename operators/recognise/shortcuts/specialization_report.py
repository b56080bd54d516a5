"""The figures of specialization, as they are published."""

from __future__ import annotations

import msgspec

from learning.account import Seconds
from operators.recognise.shortcuts.shortcut import Standing
from operators.wire import schema
from specialization.timeline import Timeline

DIGITS = 4


def specialization(timeline: Timeline, standing: Standing) -> schema.Specialization:
    """Combine the figures over time with the stream's present standing."""
    found, seconds = timeline.statistics(), standing.seconds
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
        saving=_rounded(seconds.saved / seconds.alone if seconds.alone else None),
        speedup=_rounded(_speedup(seconds)),
        processor_s=schema.ProcessorSeconds(
            oracle=round(seconds.oracle, DIGITS),
            shortcuts=round(seconds.shortcuts, DIGITS),
            avoided=round(seconds.avoided, DIGITS),
            spent=round(seconds.spent, DIGITS),
            saved=round(seconds.saved, DIGITS),
        ),
        reason=standing.reason,
        **msgspec.structs.asdict(found.counts),
    )


def _speedup(seconds: Seconds) -> float | None:
    used_s = seconds.alone - seconds.saved
    return seconds.alone / used_s if seconds.alone and used_s > 0 else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
