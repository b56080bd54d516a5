"""What is done where no variant of a node fits its budget: named policies. Pure."""

from __future__ import annotations

from typing import Literal

Fallback = Literal["cheapest", "reuse", "drop"]
"""``cheapest``: the fastest variant answers, late if need be. ``reuse``: objects that have an answer keep it and are
looked at later, new ones get the fastest variant. ``drop``: the frame is given up."""

WORDS: dict[Fallback, str] = {
    "cheapest": "the fastest answers",
    "reuse": "objects keep the answers that they have, the fastest looks at the others",
    "drop": "the frame is given up",
}
"""The policies as a reason says them."""


def fallback_of(droppable: bool, answers_tracks: bool) -> Fallback:
    """The policy of a node: late answers are worth nothing where frames may be dropped; answers of tracks can wait."""
    if droppable:
        return "drop"
    return "reuse" if answers_tracks else "cheapest"
