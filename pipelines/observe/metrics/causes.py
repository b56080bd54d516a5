"""Why frames ended as they did, as one of a few words: a cause in a message may be any text. Pure."""

from __future__ import annotations

from typing import get_args

from operators.capture.outlet import OVERRUN
from operators.frames.codec import FrameFault
from operators.publish.frame_buffer import CAPTURE_BUFFER_FULL, MESSAGE_TOO_LARGE
from operators.wire.schema import Outcome
from pipelines.execute.overload import LATE, QUEUE_FULL

CAUSES = frozenset({OVERRUN, CAPTURE_BUFFER_FULL, MESSAGE_TOO_LARGE, QUEUE_FULL, LATE, *get_args(FrameFault)})
"""The codes that this version knows; ``docs/life-of-a-frame.md`` explains them."""
NODE_FAILED, OTHER = "node_failed", "other"


def cause_word(outcome: Outcome, cause: str | None) -> str:
    """One of ``CAUSES``, ``node_failed`` or ``other``; empty for analysed frames."""
    if outcome == "analysed":
        return ""
    code = (cause or "").partition(":")[0]
    if code in CAUSES:
        return code
    return NODE_FAILED if outcome == "failed" else OTHER
