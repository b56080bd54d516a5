"""Words for what was found, places for them that cover little, and sizes and colours that follow the picture."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from operators.wire.schema import Object, Result
from serving.common.tensors import Image

Colour = tuple[int, int, int]
"""Blue, green, red."""

GREY: Colour = (150, 150, 150)
UNNAMED = ("moving", "other", "unknown")
LONGEST = 24
"""Characters of a word in a picture."""


def colour_of(label: str) -> Colour:
    """Return the label's colour, the same in every frame, stream and run; grey without a label."""
    if label in UNNAMED:
        return GREY
    hue = zlib.crc32(label.encode()) % 180
    blue, green, red = cv2.cvtColor(np.array([[[hue, 190, 255]]], np.uint8), cv2.COLOR_HSV2BGR)[0, 0]
    return int(blue), int(green), int(red)


def captions(found: Object) -> list[str]:
    """Return an object's label, shorter and shorter: word and confidence in percent, the word, the confidence.

    It is the last answer that says something, else what the object is called.
    """
    answers = [answer for answer in found.attributes if answer.label not in UNNAMED]
    word, confidence = (answers[-1].label, answers[-1].confidence) if answers else (found.label, found.confidence)
    return [f"{shortened(word)} {confidence * 100:.0f}", shortened(word), f"{confidence * 100:.0f}"]


def banners(result: Result) -> list[str]:
    """Return the frame's line, shorter and shorter: stream, number, time, and how the frame fared."""
    minutes, seconds = divmod(result.frame.media_time_s, 60)
    time = f"{minutes:.0f}:{seconds:04.1f}"
    fared = f"{result.plan.latency_ms:.0f} ms" if result.outcome == "analysed" else f"{result.outcome}: {result.cause}"
    short = f"{time}  {fared}" if result.outcome == "analysed" else f"{time}  {result.outcome}"
    return [f"{shortened(result.stream)}  {result.seq}  {time}  {fared}", f"{time}  {fared}", short, time]


def legend(objects: Sequence[Object]) -> list[tuple[str, Colour]]:
    """Return what each colour means and how many there are, the most frequent first."""
    counts = Counter(found.label for found in objects)
    return [(f"{shortened(label)} {count}", colour_of(label)) for label, count in counts.most_common()]


def shortened(word: str) -> str:
    """Shorten a word, spelt in plain letters: OpenCV's fonts have ASCII only."""
    plain = word if word.isascii() else _spelt(word)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 2]}.."


def _spelt(word: str) -> str:
    from anyascii import anyascii  # few words need it

    return anyascii(word) or "?"


Rectangle = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; right and bottom are the first outside."""
Size = tuple[int, int]
"""Width and height in pixels."""

ROWS = 12
"""Rows within a box that are tried."""


def free_place(box: Rectangle, size: Size, taken: Sequence[Rectangle], picture: Size) -> Rectangle | None:
    """Return the first place for a label beside its box, or in it, that covers no other; None: there is none.

    Above the box comes first, then below, then inside from the top down; at its left, then at its right side.
    """
    for left, top in _candidates(box, size):
        place = _in_picture(left, top, size, picture)
        if place is not None and not any(overlap(place, other) for other in taken):
            return place
    return None


def overlap(a: Rectangle, b: Rectangle) -> bool:
    """Whether two rectangles have a pixel in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _candidates(box: Rectangle, size: Size) -> Iterator[tuple[int, int]]:
    (left, top, right, bottom), (width, height) = box, size
    for x in (left, right - width):
        yield x, top - height
        yield x, bottom
    for x in (left, right - width):
        for row in range(min(ROWS, max(1, (bottom - top) // max(1, height)))):
            yield x, top + row * height


def _in_picture(left: int, top: int, size: Size, picture: Size) -> Rectangle | None:
    """The place, moved sideways into the picture; None where it reaches out of it above or below."""
    width, height = size
    left = max(0, min(left, picture[0] - width))
    if left + width > picture[0] or top < 0 or top + height > picture[1]:
        return None
    return left, top, left + width, top + height


FONT = cv2.FONT_HERSHEY_SIMPLEX
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Style:
    """Sizes for a picture: text that can be read, and covers little of it."""

    scale: float
    """The size of the font; 1 is letters 22 pixels high."""
    stroke: int
    """Pixels of a box's sides."""

    @classmethod
    def of(cls, image: Image) -> Style:
        height, width = image.shape[:2]
        middle = (height * width) ** 0.5
        return cls(min(max(middle / 2200, 0.35), 1.4), max(1, round(middle / 700)))

    @property
    def weight(self) -> int:
        """Pixels of a letter's strokes."""
        return max(1, round(1.6 * self.scale))

    @property
    def pad(self) -> int:
        """Pixels around text."""
        return max(1, round(5 * self.scale))

    @property
    def row(self) -> int:
        """Height of a line in pixels, its ground included."""
        return round(24 * self.scale) + 2 * self.pad

    def extent(self, text: str) -> Size:
        """Width and height of a line in pixels, its ground included."""
        return cv2.getTextSize(text, FONT, self.scale, self.weight)[0][0] + 2 * self.pad, self.row

    def write(self, canvas: Image, text: str, place: Rectangle, ground: Colour) -> None:
        left, top, right, bottom = place
        cv2.rectangle(canvas, (left, top), (right - 1, bottom - 1), ground, cv2.FILLED)
        blue, green, red = ground
        ink = BLACK if 0.114 * blue + 0.587 * green + 0.299 * red > 128 else WHITE
        at = (left + self.pad, bottom - self.pad - round(4 * self.scale))
        cv2.putText(canvas, text, at, FONT, self.scale, ink, self.weight, cv2.LINE_AA)
