"""The figures of a stream's own exits as they are published."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from operators.recognise.exits.account import Seconds
from operators.wire import schema
from specialization.tally import SpecializationTally
from specialization.weg.state import WegState

DIGITS = 4


def specialization(
    tally: SpecializationTally, weg: WegState, words: Sequence[str], seconds: Seconds, reason: str | None = None
) -> schema.Specialization:
    """Combine the figures so far with how the stream stands; ``reason``: why nothing of its own answers, if so."""
    used_s = seconds.alone - seconds.saved
    return schema.Specialization(
        phase=weg.phase,
        epoch=weg.epoch,
        template=weg.head.target.template if weg.head else None,
        classes=classes_of(weg, words),
        special_rate=round(tally.special_rate, DIGITS),
        cascade_rate=_rounded(tally.cascade_rate),
        transitions=tally.transitions,
        mean_dominant=_rounded(tally.mean_dominant),
        mean_window=_rounded(tally.mean_window),
        saving=_rounded(seconds.saved / seconds.alone if seconds.alone else None),
        speedup=_rounded(seconds.alone / used_s if seconds.alone and used_s > 0 else None),
        processor_s=schema.ProcessorSeconds(
            oracle=round(seconds.oracle, DIGITS),
            shortcuts=round(seconds.shortcuts, DIGITS),
            avoided=round(seconds.avoided, DIGITS),
            spent=0.0,  # what learning costs is the whole process's, within one budget
            saved=round(seconds.saved, DIGITS),
        ),
        reason=reason,
        **msgspec.structs.asdict(tally.total),
    )


def classes_of(weg: WegState, words: Sequence[str]) -> list[str]:
    """The words that the head in use knows."""
    return [words[each] for each in weg.head.target.classes] if weg.head else []


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
