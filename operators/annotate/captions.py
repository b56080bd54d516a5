"""The words on annotated pictures: a short label for an object, the frame's banner, the legend of colours. Pure."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

import cv2
import numpy as np

from operators.wire.schema import Object, Result

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
    """Shorten a word; OpenCV's fonts have ASCII only."""
    plain = word.encode("ascii", "replace").decode()
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 2]}.."
