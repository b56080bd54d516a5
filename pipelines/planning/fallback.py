"""Which policy decides where no model of a node has the time. Pure."""

from __future__ import annotations

from operators.wire.schema import Fallback


def fallback_of(droppable: bool, answers_tracks: bool) -> Fallback:
    """The policy of a node: late answers are worth nothing where frames may be dropped; answers of tracks can wait."""
    if droppable:
        return "drop"
    return "reuse" if answers_tracks else "cheapest"
