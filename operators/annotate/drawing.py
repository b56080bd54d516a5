"""Draws a result onto its picture."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from operators.annotate.shade import shade
from operators.frames.frame import Box
from operators.frames.mask import Mask
from operators.wire.schema import Object, Result
from serving.common.tensors import Image

Colour = tuple[int, int, int]
"""Blue, green, red."""
Rectangle = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels."""

FONT = cv2.FONT_HERSHEY_SIMPLEX
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)
GREY: Colour = (150, 150, 150)
DARK: Colour = (40, 40, 40)
AMBER: Colour = (0, 150, 230)
RED: Colour = (40, 40, 200)
UNNAMED = ("moving", "other", "unknown")


@dataclass(frozen=True, slots=True)
class Style:
    """Sizes that make text legible and lines visible on pictures of this height."""

    font_scale: float
    stroke: int
    """Pixels."""

    @classmethod
    def of(cls, image: Image) -> Style:
        """Return the style for a picture."""
        height = image.shape[0]
        return cls(font_scale=min(max(height / 1100, 0.38), 1.4), stroke=max(1, round(height / 500)))


def draw(image: Image, result: Result, masks: Sequence[Mask] = ()) -> Image:
    """Draw the stream's masks, boxes, names, answers and the frame's outcome onto a copy of the picture."""
    canvas = image.copy()
    shade(canvas, masks)
    style = Style.of(canvas)
    taken: list[Rectangle] = [_banner(canvas, style, result)]
    boxes = [_pixels(found, canvas) for found in result.objects]
    for found, box in zip(result.objects, boxes, strict=True):
        stroke = style.stroke if found.parent_id is None else max(1, style.stroke // 2)
        cv2.rectangle(canvas, box[:2], box[2:], colour_of(found.label), stroke, cv2.LINE_AA)
    for found, box in zip(result.objects, boxes, strict=True):
        taken.append(_tag(canvas, style, found, box, taken))
    return canvas


def colour_of(label: str) -> Colour:
    """Return the label's colour, the same in every frame, stream and run; grey without a label."""
    if label in UNNAMED:
        return GREY
    hue = zlib.crc32(label.encode()) % 180
    blue, green, red = cv2.cvtColor(np.array([[[hue, 190, 255]]], np.uint8), cv2.COLOR_HSV2BGR)[0, 0]
    return int(blue), int(green), int(red)


def caption(found: Object) -> list[str]:
    """Return an object's caption: its name and track, then every answer with its confidence and provenance."""
    track = "" if found.track_id is None else f" #{found.track_id}"
    answers = [
        f"{answer.name}: {answer.label} {answer.confidence:.0%} {answer.provenance}" for answer in found.attributes
    ]
    return [f"{found.label} {found.confidence:.0%}{track}", *answers]


def _pixels(found: Object, image: Image) -> Rectangle:
    box = found.detection.bounding_box
    left, top, right, bottom = Box(box.x_min, box.y_min, box.x_max, box.y_max).pixels(image.shape[1], image.shape[0])
    return left, top, right - 1, bottom - 1


def _banner(canvas: Image, style: Style, result: Result) -> Rectangle:
    """Write stream, frame and outcome in the top left corner: red for a failure, amber for a missed deadline."""
    minutes, seconds = divmod(result.frame.media_time_s, 60)
    text = f"{result.stream}  {result.seq}  {minutes:.0f}:{seconds:04.1f}  {result.outcome}"
    if result.outcome != "analysed":
        return _text(canvas, style, [f"{text}: {result.cause}"], (0, 0), RED)
    colour = DARK if result.plan.deadline_met else AMBER
    return _text(canvas, style, [f"{text}  {result.plan.latency_ms:.0f} ms"], (0, 0), colour)


def _tag(canvas: Image, style: Style, found: Object, box: Rectangle, taken: Sequence[Rectangle]) -> Rectangle:
    """Write the caption where it covers no other: above its box, else below, else inside."""
    lines = caption(found)
    width, height = _extent(style, lines)
    left, top, _, bottom = box
    places = [(left, top - height), (left, bottom + 1), (left, top)]
    inside = [_shifted(place, width, height, canvas) for place in places]
    free = [
        place for place in inside if not any(_overlap((*place, place[0] + width, place[1] + height), t) for t in taken)
    ]
    return _text(canvas, style, lines, (free or inside)[0], colour_of(found.label))


def _shifted(place: tuple[int, int], width: int, height: int, canvas: Image) -> tuple[int, int]:
    """The nearest place at which a text of this size is wholly in the picture, if it can be."""
    return max(0, min(place[0], canvas.shape[1] - width)), max(0, min(place[1], canvas.shape[0] - height))


def _overlap(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _extent(style: Style, lines: Sequence[str]) -> tuple[int, int]:
    """Pixels that a block of text takes, its margins included."""
    sizes = [cv2.getTextSize(_ascii(line), FONT, style.font_scale, _weight(style))[0] for line in lines]
    return max(size[0] for size in sizes) + 2 * _pad(style), _line_height(style) * len(lines) + _pad(style)


def _text(canvas: Image, style: Style, lines: Sequence[str], place: tuple[int, int], ground: Colour) -> Rectangle:
    """Write lines on a filled ground; returns what they cover."""
    width, height = _extent(style, lines)
    left, top = place
    cv2.rectangle(canvas, place, (left + width - 1, top + height - 1), ground, cv2.FILLED)
    blue, green, red = ground
    ink = BLACK if 0.114 * blue + 0.587 * green + 0.299 * red > 128 else WHITE
    for number, line in enumerate(lines, start=1):
        at = (left + _pad(style), top + number * _line_height(style) - _pad(style) // 2)
        cv2.putText(canvas, _ascii(line), at, FONT, style.font_scale, ink, _weight(style), cv2.LINE_AA)
    return left, top, left + width, top + height


def _line_height(style: Style) -> int:
    return round(30 * style.font_scale) + 2


def _pad(style: Style) -> int:
    return max(2, round(8 * style.font_scale))


def _weight(style: Style) -> int:
    return max(1, round(1.7 * style.font_scale))


def _ascii(text: str) -> str:
    """Replace other letters, which OpenCV's fonts do not have."""
    return text.encode("ascii", "replace").decode()
