"""Where labels go, so that none covers another. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
