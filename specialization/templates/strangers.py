"""Pictures of things that a stream need not show: the samples of "other" where it shows one class only.

They are drawn vehicles, persons and pieces of background, from above and at eye level, by day and by night.
"""

from __future__ import annotations

from pathlib import Path

import cv2

from serving.common.tensors import Image
from serving.errors import ModelError

SHEET = Path(__file__).with_name("strangers.jpg")
"""The pictures side by side; ``python -m tools.shipped.draw_strangers`` has drawn it."""
SIDE = 48
"""Pixels of width and of height of a picture."""


def strangers() -> list[Image]:
    """The pictures, blue-green-red; ModelError where the sheet is missing or damaged."""
    sheet = cv2.imread(str(SHEET))
    if sheet is None:
        raise ModelError(f"{SHEET}: cannot be read; install Sluice again")
    rows, columns = (pixels // SIDE for pixels in sheet.shape[:2])
    places = [(SIDE * row, SIDE * column) for row in range(rows) for column in range(columns)]
    return [sheet[top : top + SIDE, left : left + SIDE] for top, left in places]
