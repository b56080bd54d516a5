"""The findings of a replay, in words and in JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pipelines.run.replay.comparison import Comparison, Worst
from pipelines.run.replay.match import Difference
from serving.common.untrusted import printable

MOST_NAMED = 4
"""Differences of a frame that are named in a line."""
COLUMNS = ("frames", "objects", "lost", "new", "renamed", "answers")


@dataclass(frozen=True)
class About:
    """Remarks on a replay."""

    tolerance: float
    """Share of objects that may have changed, 0…1."""
    notes: Sequence[str] = ()
    """Differences between now and when the recording was made."""


def lines(found: Comparison, about: About) -> list[str]:
    """A table of streams, the worst frames, and the verdict; at most 80 columns but for names."""
    streams = found.streams()
    width = max([6, *(len(printable(each.stream, 30)) for each in streams)])
    said = [*about.notes, _frames(found)]
    said.append("stream".ljust(width) + "".join(f"{name:>9}" for name in COLUMNS) + "  changed")
    for each in streams:
        figures = "".join(f"{getattr(each, name):9d}" for name in COLUMNS)
        said.append(printable(each.stream, 30).ljust(width) + figures + f"{each.share:9.1%}")
    if not_analysed := sum(each.not_analysed for each in streams):
        said.append(f"{not_analysed} frames that were analysed then could not be analysed now")
    if found.worst:
        said += ["most has changed in:", *(f"  {_worst(each)}" for each in found.worst)]
    verdict = "more than" if is_too_much(found, about) else "within"
    said.append(f"{found.share:.1%} of the objects have changed: {verdict} the {about.tolerance:.1%} that may change")
    return said


def is_too_much(found: Comparison, about: About) -> bool:
    """Whether more has changed than may; a frame that has no result any more is too much in any case."""
    return found.share > about.tolerance or any(each.not_analysed for each in found.streams())


def as_json(found: Comparison, about: About) -> Mapping[str, Any]:
    """The same for scripts."""
    return {
        "ok": not is_too_much(found, about),
        "changed": round(found.share, 6),
        "tolerance": about.tolerance,
        "frames": {"seen": found.seen, "lead_in": found.lead_in, "unreadable": found.unreadable},
        "streams": [{**msgspec.to_builtins(each), "share": round(each.share, 6)} for each in found.streams()],
        "worst": [
            {
                "picture": each.frame.where,
                "stream": each.after.stream,
                "seq": each.after.seq,
                "media_time_s": each.after.frame.media_time_s,
                "differences": [msgspec.to_builtins(one) for one in each.differences],
            }
            for each in found.worst
        ],
        "notes": list(about.notes),
    }


def in_words(found: Difference) -> str:
    """One difference.

    >>> from operators.wire.schema import BoundingBox
    >>> box = BoundingBox(x_min=0, y_min=0, x_max=1, y_max=1)
    >>> in_words(Difference("answer", "car", "van", 0.87, box, "type"))
    'type car → van 87 %'
    >>> in_words(Difference("lost", "person", "", 0.5, box))
    'lost person 50 %'
    """
    before, after = (printable(each, 30) or "nothing" for each in (found.before, found.after))
    sure = f"{100 * found.confidence:.0f} %"
    match found.kind:
        case "lost":
            return f"lost {before} {sure}"
        case "new":
            return f"new {after} {sure}"
        case "renamed":
            return f"{before} → {after} {sure}"
        case "answer":
            return f"{printable(found.attribute, 30)} {before} → {after} {sure}"


def _frames(found: Comparison) -> str:
    said = f"{found.compared} frames compared of {found.seen}: {found.lead_in} lead in"
    return said + (f", {found.unreadable} cannot be read" if found.unreadable else "")


def _worst(each: Worst) -> str:
    named = [in_words(one) for one in sorted(each.differences, key=lambda one: -one.confidence)]
    more = f"; {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    at_s = each.after.frame.media_time_s
    return f"{each.frame.where} {printable(each.after.stream, 30)} {at_s:.2f} s: {'; '.join(named[:MOST_NAMED])}{more}"
