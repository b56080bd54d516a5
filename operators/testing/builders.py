"""Frames, regions and calls with defaults."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import numpy as np

from operators.base import Call
from operators.decision import Decision
from operators.frames.frame import Box, Frame, Region, frame_of
from operators.frames.planes import Pixels
from operators.wire.schema import FrameId, ShortcutKind
from serving.scheduling.requests import Urgency

FAR = 1e9
"""A deadline that nothing misses, seconds on the monotonic clock."""


def call(model: str | None = None, deadline: float = FAR, shortcuts: frozenset[ShortcutKind] | None = None) -> Call:
    """A call for a model, in which all shortcuts, or these, are allowed."""
    return Call(Decision(model, shortcuts), Urgency(deadline))


CALL = call()
"""For operators without a network."""


def make_frame(
    seq: int = 0,
    media_time_s: float = 0.0,
    image: Pixels | None = None,
    stream: str = "cam",
    run: str = "run-1",
) -> Frame:
    """A frame, grey unless an image is given."""
    picture: Pixels = np.full((120, 160, 3), 128, np.uint8) if image is None else image
    return frame_of(FrameId(stream, run, seq), picture, media_time_s, datetime.now(UTC))


def so_far(stream: str = "cam", run: str = "run-1") -> FrameId:
    """The name of a frame behind all that were shown: what is ``published`` with it is everything."""
    return FrameId(stream, run, sys.maxsize)


def make_region(
    x: float = 0.1, y: float = 0.1, w: float = 0.2, h: float = 0.2, label: str = "car", **more: Any
) -> Region:
    """A region by its top left corner and size; ``more``: other fields of ``Region``."""
    return Region(**{"id": 0, "node": "detect", "confidence": 0.9, **more}, label=label, box=Box(x, y, x + w, y + h))
