"""Lays rectangles side by side in a square: shelves of falling height. Pure."""

from __future__ import annotations

from collections.abc import Sequence

STEP = 0.9
"""How much smaller all become where they do not fit."""


def packed(sizes: Sequence[tuple[int, int]], side: int) -> tuple[float, list[tuple[int, int]]]:
    """Return a scale of at most 1, and where each rectangle's left upper corner lies once all are scaled by it.

    ``sizes``: width and height in pixels.

    >>> packed([(60, 50), (50, 80), (40, 20)], 100)[0] < 1
    True
    >>> packed([(60, 50), (40, 80)], 100)
    (1.0, [(40, 0), (0, 0)])
    """
    scale = 1.0
    while True:
        places = _shelved([(max(1, round(w * scale)), max(1, round(h * scale))) for w, h in sizes], side)
        if places is not None:
            return scale, places
        scale *= STEP


def _shelved(sizes: Sequence[tuple[int, int]], side: int) -> list[tuple[int, int]] | None:
    places = [(0, 0)] * len(sizes)
    left = top = shelf = 0
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index][1]):
        width, height = sizes[index]
        if left + width > side:
            left, top, shelf = 0, top + shelf, 0
        if left + width > side or top + height > side:
            return None
        places[index] = left, top
        left, shelf = left + width, max(shelf, height)
    return places
