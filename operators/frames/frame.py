"""The data of operators: a decoded frame and the regions found in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from operators.frames.planes import Pixels, Planes, bgr, encoding_of
from operators.wire.bounds import LONGEST_MEDIA_S, LONGEST_MS, limited
from operators.wire.corners import Corners
from operators.wire.schema import Attribute, FrameHeader, FrameId
from serving.common.tensors import Image
from serving.common.threads import in_thread

CONVERTED_AT_ONCE = 1 << 19
"""Pixels in planes that become an image in a fraction of a millisecond."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One sampled frame of a stream: its header, and its picture, which has the width and height of the header."""

    header: FrameHeader
    pixels: Pixels
    jpeg: bytes | None = None
    """The JPEG that the picture was decoded from, where it was."""

    @property
    def image(self) -> Image:
        """The picture in blue, green and red; made when it is first asked for, where it came in planes or as a JPEG."""
        return bgr(self.pixels)

    @property
    def stream(self) -> str:
        return self.header.stream

    @property
    def run(self) -> str:
        """The id of the capture's run."""
        return self.header.run

    @property
    def seq(self) -> int:
        """Counts from 0, unbroken within ``run``."""
        return self.header.seq

    @property
    def media_time_s(self) -> float:
        """Presentation time within the source, seconds."""
        return self.header.media_time_s

    @property
    def captured_at(self) -> datetime:
        """When the frame was decoded, UTC."""
        return self.header.captured_at

    @property
    def width(self) -> int:
        """Pixels."""
        return self.header.width

    @property
    def height(self) -> int:
        """Pixels."""
        return self.header.height


async def make_image(frame: Frame) -> None:
    """Have the frame's image made without blocking the event loop, before it is cut from."""
    pixels = frame.pixels
    if isinstance(pixels, np.ndarray) or pixels.is_converted:
        return
    if not isinstance(pixels, Planes) or frame.width * frame.height > CONVERTED_AT_ONCE:
        await in_thread(lambda: pixels.bgr)


def without_picture(frame: Frame) -> Frame:
    """The frame for those who ask for its header alone: its picture is not kept in memory for them."""
    return replace(frame, pixels=np.zeros((1, 1, 3), np.uint8), jpeg=None)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def frame_of(
    name: FrameId,
    pixels: Pixels,
    media_time_s: float = 0.0,
    captured_at: datetime = EPOCH,
    decode_ms: float = 0.0,
) -> Frame:
    """A frame with this picture, and a header of this process; times are brought within the bounds of messages."""
    height, width = pixels.shape[:2]
    header = FrameHeader(
        stream=name.stream,
        run=name.run,
        seq=name.seq,
        width=width,
        height=height,
        media_time_s=limited(media_time_s, -LONGEST_MEDIA_S, LONGEST_MEDIA_S),
        captured_at=captured_at,
        encoding=encoding_of(pixels),
        decode_ms=limited(decode_ms, 0.0, LONGEST_MS),
    )
    return Frame(header, pixels)


@dataclass(frozen=True, slots=True)
class Box(Corners):
    """A box whose ``x_min < x_max`` and ``y_min < y_max``: corners relative to the frame, 0…1, origin top left."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float


Landmarks = tuple[tuple[float, float], ...]
"""The five points of a face that ``operators.frames.crops`` names, shares of the frame; they may lie outside."""

WHOLE = Box(0.0, 0.0, 1.0, 1.0)
"""The frame itself."""


@dataclass(slots=True)
class Region:
    """An object of a frame while operators work on it: track sets ``track_id``, recognise appends to ``attributes``."""

    id: int
    """Unique within the frame."""
    node: str
    """The detect node that found it."""
    box: Box
    label: str
    confidence: float
    class_agnostic: bool = False
    """Whether the detector gives no names, so that the recognisers' answer names the object."""
    parent_id: int | None = None
    landmarks: Landmarks | None = None
    """Where the points of a face lie; None: the detector does not tell them."""
    age_s: float | None = None
    """Media time since the detector found it, where it was moved since; None: found on this frame."""
    identity: int | None = None
    """The number under which its detect node follows the object from detection to detection; None: it does not."""
    track_id: int | None = None
    attributes: list[Attribute] = field(default_factory=list)
    zones: tuple[str, ...] | None = None
    """Names of the zones that hold its point; None: the stream has none."""


def boxes_of(regions: Sequence[Region]) -> NDArray[np.float64]:
    """The regions' corners, N × 4 shares of the frame: x_min, y_min, x_max, y_max."""
    boxes = [(each.box.x_min, each.box.y_min, each.box.x_max, each.box.y_max) for each in regions]
    return np.array(boxes, np.float64).reshape(-1, 4)
