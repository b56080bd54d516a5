"""The crops that were read by eye, and a picture of all of them: ``python -m benchmarks.colours_parts.sheet``.

Under each crop is what was read and, where it is not the same, what the network says; ``?``: no colour. A green
frame: both say the same colour; a red one: another.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from datasets import camera_crops
from serving.common.tensors import Image
from tools.shipped.colour.train_colour import NAME, UNSURE, labels

DATA = Path(os.environ.get("SLUICE_DATA", Path(__file__).parents[3] / "shared" / "data"))
SHEET = Path(__file__).parents[2] / "docs" / "images" / "vehicle-colours.jpg"
COLUMNS, CELL, LINE = 20, 72, 14
GREEN, RED, DARK = (60, 170, 60), (40, 40, 220), (60, 60, 60)


@dataclass(frozen=True, slots=True)
class Judged:
    """A crop with what was read: a colour, or ``unsure``."""

    image: Image
    camera: str
    colour: str


def judged() -> list[Judged]:
    """All, by the names of their sources and files."""
    crops = {f"{crop.source}/{crop.name}": crop for crop in camera_crops.read(DATA / "crops")}
    known = labels("judged")
    return [Judged(crops[name].image, crops[name].camera, colour) for name, colour in known.items()]


def main() -> None:
    """Write the sheet anew."""
    from benchmarks.colours import speakers
    from tools.shipped.colour.paints import COLOURS

    crops = sorted(judged(), key=lambda crop: (crop.colour == UNSURE, crop.colour))
    said = speakers()[NAME]([crop.image for crop in crops])
    sheet = draw(crops, ["unknown" if at < 0 else COLOURS[at] for at in said.tolist()])
    cv2.imwrite(str(SHEET), sheet, [cv2.IMWRITE_JPEG_QUALITY, 80])


def draw(crops: list[Judged], said: list[str]) -> Image:
    """All crops in rows."""
    rows = -(-len(crops) // COLUMNS)
    sheet = np.full((rows * (CELL + LINE), COLUMNS * CELL, 3), 255, np.uint8)
    for place, (crop, word) in enumerate(zip(crops, said, strict=True)):
        top, left = place // COLUMNS * (CELL + LINE), place % COLUMNS * CELL
        scale = (CELL - 6) / max(crop.image.shape[:2])
        small = cv2.resize(crop.image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        height, width = small.shape[:2]
        colour = DARK if UNSURE in (crop.colour, word) or word == "unknown" else GREEN if word == crop.colour else RED
        if colour is not DARK:
            cv2.rectangle(sheet, (left, top), (left + width + 5, top + height + 5), colour, -1)
        sheet[top + 3 : top + 3 + height, left + 3 : left + 3 + width] = small
        read, answer = ("?" if each in (UNSURE, "unknown") else each for each in (crop.colour, word))
        text = read if read == answer else f"{read}: {answer}"
        cv2.putText(sheet, text, (left + 2, top + CELL + 9), 0, 0.3, colour, 1, cv2.LINE_AA)
    return sheet


if __name__ == "__main__":
    main()
