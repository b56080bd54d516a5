"""The inputs among which ``detail: auto`` chooses: a network's own, and some that are wider. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from serving.catalogue.cards import ImageInput
from serving.graphs.surgery.sizes import Size
from serving.loading.rectangles import STEPS, rectangle

WIDER = (1.0, 1.3, 1.55, 2.0)
"""Multiples of the width at which a network was made. In pictures beyond twice that, large things are overlooked."""
STEP = STEPS[0]
NO_DEARER = 1.01
"""Costs that exceed another by no more count as the same: no camera's shape has exactly the square's pixels."""


class Width(NamedTuple):
    """A way of showing pictures to a network."""

    detail: int
    """The longer side that is asked for, pixels."""
    size: Size
    """The network's input."""

    @property
    def pixels(self) -> int:
        return self.size.width * self.size.height


@dataclass(frozen=True)
class AutoDetail:
    """The wish of a query that says ``detail: auto``."""

    most_cost: float = 1.0
    """The most that a frame may cost on average, as a multiple of the network's own input on every frame."""

    def on_every_frame(self, own: ImageInput, width: int, height: int) -> int:
        """The longer side to ask for where the network runs on every frame."""
        shown = widths(own, width, height)
        most = self.most_cost * NO_DEARER * own.width * own.height
        return max([each.detail for each in shown if each.pixels <= most], default=shown[0].detail)


def widths(own: ImageInput, width: int, height: int) -> list[Width]:
    """The ways of showing pictures of this size, the narrowest first; none is wider than the picture.

    >>> [tuple(each.size) for each in widths(ImageInput(width=416, height=416, resize="letterbox"), 1280, 720)]
    [(416, 256), (544, 320), (640, 384), (832, 480)]
    """
    longer = max(width, height)
    base = min(own.width / width, own.height / height, 1.0) * longer
    found = list[Width]()
    for share in WIDER:
        detail = round(base) if share == 1.0 else min(round(share * base / STEP) * STEP, longer)
        size = rectangle(own, width, height, STEP, detail) or Size(own.width, own.height)
        if not found or size.width * size.height > found[-1].pixels:
            found.append(Width(detail, size))
    return found
