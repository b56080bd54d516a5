"""Builders with defaults, so that a test states only what matters to it."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from operators.base import Call
from operators.frame import Box, Frame, Region
from serving.urgency import Urgency

CALL = Call(model=None, urgency=Urgency(1e9))


def make_frame(seq=0, media_time_s=0.0, image=None, stream="cam", run="run-1") -> Frame:
    """A frame, grey unless an image is given."""
    picture = np.full((120, 160, 3), 128, np.uint8) if image is None else image
    return Frame(stream, run, seq, picture, media_time_s, datetime.now(UTC))


def make_region(x=0.1, y=0.1, w=0.2, h=0.2, label="car", **more) -> Region:
    """A region by its top left corner and size."""
    return Region(**{"id": 0, "node": "detect", "confidence": 0.9, **more}, label=label, box=Box(x, y, x + w, y + h))
