"""Draws the strangers of ``specialization.templates``: ``python -m tools.shipped.draw_strangers``."""

from __future__ import annotations

import cv2
import numpy as np

from datasets.street import street_crops
from specialization.templates.strangers import SHEET, SIDE

SEED = 71
VIEWS = ("above", "eye-level")
ROWS, COLUMNS = 4, 12
"""The pictures of a view; both are a multiple of the classes that are drawn."""
QUALITY = 90


def main() -> None:
    """Write the sheet anew."""
    halves = [street_crops(SEED, ROWS * COLUMNS, SIDE, view)[0] for view in VIEWS]
    pictures = np.concatenate(halves).reshape(len(VIEWS) * ROWS, COLUMNS, SIDE, SIDE, 3)
    sheet = pictures.transpose(0, 2, 1, 3, 4).reshape(len(VIEWS) * ROWS * SIDE, COLUMNS * SIDE, 3)
    cv2.imwrite(str(SHEET), sheet, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])


if __name__ == "__main__":
    main()
