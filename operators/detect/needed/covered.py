"""The cells of a frame in which known objects explain what has changed. Pure."""

from __future__ import annotations

import numpy as np

from operators.detect.needed.flow import Boxes
from operators.frames.changes import COLUMNS, ROWS, Cells

WIDENED = 0.25
"""Share of its size by which a known box is widened on each side: its object has moved since."""


def covered_cells(boxes: Boxes) -> Cells:
    """Return the cells that lie in a box or touch it, each box widened."""
    covered = np.zeros((ROWS, COLUMNS), bool)
    for x_min, y_min, x_max, y_max in boxes:
        wide, high = (x_max - x_min) * WIDENED, (y_max - y_min) * WIDENED
        left, right = int((x_min - wide) * COLUMNS), int(np.ceil((x_max + wide) * COLUMNS))
        top, bottom = int((y_min - high) * ROWS), int(np.ceil((y_max + high) * ROWS))
        covered[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = True
    return covered
