"""Hints in the boxes of a track: whether the object is cut off by the border, and whether it may be another. Pure."""

from __future__ import annotations

from operators.frames.frame import Box

BORDER = 0.01
"""A box that comes so near to the frame's border, as a share of the frame, is cut off by it."""
SHORTEST_S = 0.01
"""Boxes that follow each other more closely tell no speed."""


def cut_off(box: Box) -> bool:
    """Whether the frame's border cuts the object off, so that only a part of it is seen."""
    return box.x_min < BORDER or box.y_min < BORDER or box.x_max > 1 - BORDER or box.y_max > 1 - BORDER


class BoxMotion:
    """The latest boxes of a track."""

    __slots__ = ("_at_s", "_vx", "_vy", "_x", "_y")

    def __init__(self, box: Box, at_s: float) -> None:
        self._x, self._y = (box.x_min + box.x_max) / 2, (box.y_min + box.y_max) / 2
        self._at_s = at_s
        self._vx = self._vy = 0.0

    def jumps(self, box: Box, at_s: float, least: float) -> bool:
        """Take the next box; returns whether its place does not follow from the boxes before.

        ``least``: distance from the expected place, as a share of the box's size, that is a jump.
        """
        width, height = box.x_max - box.x_min, box.y_max - box.y_min
        x, y, passed_s = box.x_min + width / 2, box.y_min + height / 2, at_s - self._at_s
        dx, dy = x - self._x, y - self._y
        jumped = abs(dx - self._vx * passed_s) > least * width or abs(dy - self._vy * passed_s) > least * height
        if passed_s > SHORTEST_S:
            self._vx, self._vy, self._at_s = dx / passed_s, dy / passed_s, at_s
            self._x, self._y = x, y
        return jumped
