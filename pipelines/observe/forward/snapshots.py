"""Pictures for notifications: the frame that caused an event, scaled down and bounded."""

from __future__ import annotations

from functools import partial

from operators.frames.codec import FrameError, decode_frame
from operators.frames.preview import preview
from operators.wire.bounds import SNAPSHOT_BYTES
from operators.wire.schema import Event, FrameHeader
from pipelines.observe.forward.frame_finder import FrameFinder, Missing
from pipelines.observe.forward.sink import Picture
from serving.common.tensors import Image
from serving.common.threads import in_thread

QUALITIES = (80, 50)
"""Qualities of the JPEG: the second one where the first makes too many bytes."""


async def snapshot(finder: FrameFinder, event: Event, max_width: int) -> Picture | Missing:
    """The picture, or why there is none."""
    found = await finder.find(event)
    if isinstance(found, str):
        return found
    try:
        return await in_thread(partial(_decoded, *found, max_width)) or "too_large"
    except (FrameError, ValueError):
        return "unreadable"


def _decoded(header: FrameHeader, data: bytes, max_width: int) -> Picture | None:
    return scaled(decode_frame(header, data).image, max_width)


def scaled(image: Image, max_width: int) -> Picture | None:
    """The picture of a frame; None where it is too large at any quality. Call it in a thread; raises ValueError."""
    for quality in QUALITIES:
        jpeg, width, height = preview(image, max_width, quality)
        if len(jpeg) <= SNAPSHOT_BYTES:
            return Picture(jpeg, width, height)
    return None
