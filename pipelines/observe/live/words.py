"""The page's words: who answered, how a stream stands, a lost frame's cause, one frame explained. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from operators.wire.bounds import TEXT_CHARS
from operators.wire.schema import Object, Provenance, Result, StreamStatus
from pipelines.report.explanation import explain
from serving.common.untrusted import printable

Who = Literal["oracle", "variant", "specialised", "cached", "track", "detector", "propagated"]
WHO: tuple[Who, ...] = get_args(Who)
"""Who answered for an object, by which the page colours it, in the order of its legend."""
_OF: dict[Provenance, Who] = {
    "oracle": "oracle",
    "variant": "variant",
    "specialised": "specialised",
    "cached": "cached",
    "track": "track",
    "reused": "track",
}
LONGEST = 300
"""Characters of a sentence that quotes a message."""
MOST_LINES = 40
"""Lines about one frame."""
SILENT_S = 10.0
"""A stream without a result for this time is silent."""
FEW_LOST, MANY_LOST = 0.05, 0.5
"""Shares of the last minute's frames: where fewer are lost, all is well; where more, something is badly wrong."""
Look = Literal["good", "idle", "warn", "bad"]
STATES: Mapping[str, tuple[Look, str]] = {
    "starting": ("idle", "is being opened"),
    "running": ("good", "is running"),
    "stalled": ("warn", "has stopped giving frames"),
    "reconnecting": ("warn", "was lost and is being opened again"),
    "ended": ("idle", "has ended"),
    "failed": ("bad", "was given up"),
}
CAUSES = {
    "late": "too late for their deadline",
    "queue_full": "more waited than the queue holds",
    "capture_overrun": "newer ones came before they were taken",
    "capture_buffer_full": "the broker did not take them in time",
    "message_too_large": "larger than the topic allows",
    "node_failed": "a node of the query failed",
}


def who(found: Object) -> Who:
    """Who looked at the object in this frame for its last answer; without answers, where its box comes from."""
    if not found.attributes:
        return found.detection.provenance
    said = found.attributes[-1]
    return _OF[said.looked if said.provenance == "track" and said.looked is not None else said.provenance]


@dataclass(frozen=True, slots=True)
class StreamStanding:
    """How a stream does."""

    look: Look
    """By which the page colours it."""
    group: str
    """In a word or two, as streams are counted."""
    word: str
    """The same with a reason or a figure."""
    words: str
    """A sentence."""


def standing(status: StreamStatus | None, seen: bool, silent_s: float, lost: float) -> StreamStanding:
    """``seen``: whether a frame of it was ever analysed; ``silent_s``: since its last result; ``lost``: share of its
    frames that were dropped or failed in the last minute.
    """
    if status is not None and status.state != "running":
        return _away(status, seen)
    alive = "Results come in" if status is None else "The source is running"
    if silent_s >= SILENT_S:
        quiet = f"{silent_s:.0f} s"
        words = f"No result for {quiet}." if status is None else f"{alive}, but no result has come for {quiet}."
        return StreamStanding("idle", "silent", f"silent for {quiet}", words)
    if lost >= FEW_LOST:
        share = f"{100 * lost:.0f} %"
        words = f"{alive}, but {share} of the last minute's frames were dropped or failed."
        return StreamStanding("bad" if lost >= MANY_LOST else "warn", "losing frames", f"{share} lost", words)
    return StreamStanding("good", "running", "running", f"{alive}.")


def _away(status: StreamStatus, seen: bool) -> StreamStanding:
    """A source that gives no frames."""
    look, did = STATES[status.state]
    group: str = status.state
    if status.state in ("stalled", "reconnecting") and not seen and not status.frames:
        group, did = "not come yet", "has not come yet"
    word = f"{group}: {printable(status.reason, LONGEST)}" if status.reason else group
    message = printable(status.message, TEXT_CHARS).rstrip(".") if status.message else ""
    return StreamStanding(look, group, word, f"The source {did}: {message}." if message else f"The source {did}.")


def explained(result: Result) -> list[str]:
    """One frame as ``sluice explain`` tells it, in so many lines as a page has room for."""
    lines = explain(result)
    more = [f"and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return [printable(line.strip(), LONGEST) for line in [*lines[:MOST_LINES], *more]]
