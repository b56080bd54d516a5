"""How a stream stands with exits of its own, and the figures of that as they are published."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from learning.account import Seconds
from operators.wire import schema
from specialization.tally import SpecializationTally
from specialization.weg.state import PhaseName

DIGITS = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """The phase of WEG on one stream."""

    phase: PhaseName
    epoch: int
    template: str | None = None
    """The network whose exits answer."""
    classes: tuple[str, ...] = ()
    window: int = 0
    """Number of answers by which the classes were chosen."""
    seconds: Seconds = field(default_factory=Seconds)
    """Its costs and savings."""
    reason: str | None = None
    """Why nothing of the stream's own answers, in one sentence, where that is known."""


def specialization(tally: SpecializationTally, standing: Standing) -> schema.Specialization:
    """Combine the figures so far with the stream's present standing."""
    seconds = standing.seconds
    return schema.Specialization(
        phase=standing.phase,
        epoch=standing.epoch,
        template=standing.template,
        classes=list(standing.classes),
        special_rate=round(tally.special_rate, DIGITS),
        cascade_rate=_rounded(tally.cascade_rate),
        transitions=tally.transitions,
        mean_dominant=_rounded(tally.mean_dominant),
        mean_window=_rounded(tally.mean_window),
        saving=_rounded(seconds.saved / seconds.alone if seconds.alone else None),
        speedup=_rounded(_speedup(seconds)),
        processor_s=schema.ProcessorSeconds(
            oracle=round(seconds.oracle, DIGITS),
            shortcuts=round(seconds.shortcuts, DIGITS),
            avoided=round(seconds.avoided, DIGITS),
            spent=0.0,  # what learning costs is the whole process's, within one budget
            saved=round(seconds.saved, DIGITS),
        ),
        reason=standing.reason,
        **msgspec.structs.asdict(tally.total),
    )


def _speedup(seconds: Seconds) -> float | None:
    used_s = seconds.alone - seconds.saved
    return seconds.alone / used_s if seconds.alone and used_s > 0 else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
