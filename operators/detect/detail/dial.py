"""How wide a picture a detector is shown on a stream: as wide as skipped frames pay for. Pure.

Costs are counted in *squares*, runs of the network on its own input: what it costs to show it every frame so is 1.

**Credit.** Every frame adds to the credit of a stream what a frame may cost, takes away what it has cost, and what
exceeds ``MOST_CREDIT`` is lost. A wider input is taken where the credit is full, and the latest frames would have cost
less with it, or every frame may be run so. It is left where the credit is used up, for one that would have cost less,
with ``AGAIN_CREDIT``. So all frames together cost at most what they may, and ``AGAIN_CREDIT`` and one frame's cost for
each time that an input was left; where even the narrowest one costs more than it may, nothing wider is ever taken.

**Deadline.** An input is left at once where a detection has ended too late, and a wider one is taken only where the
slowest of the latest detections would have been in time with it.

**Rests.** After an input was left none wider is taken for a rest, each twice as long as the one before, until one input
was kept for the longest. So in n frames, whatever they show, each wider input is left log2(n / ``FIRST_REST`` + 1) + 1
times at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

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


Cause = Literal["cost", "time"]
"""Why an input is too wide."""

MOST_CREDIT, AGAIN_CREDIT = 40.0, 10.0
"""Squares."""
SPAN, LEAST_FRAMES = 400, 50
"""Frames that what is spent is averaged over, and that must have been seen at an input before a wider one is taken."""
ROOM = 0.85
"""Share of what it may cost, and of its time, that a wider input is expected to take."""
DETECTIONS = 32
"""Detections whose slowest counts."""
FIRST_REST, LONGEST_REST = 250, 16_000
"""Frames."""


class DetectorUse(NamedTuple):
    """The cost of some frames of a stream."""

    frames: int
    runs: int
    """Frames that the detector ran on."""
    besides: float
    """The cost of looks and audits, squares."""


class Price(NamedTuple):
    """The cost of one run with an input."""

    squares: float
    ready: bool
    """Whether the network is loaded."""


class DetailDial:
    """One stream. ``at`` is the place of its input among the prices, which go from the narrowest to the widest."""

    def __init__(self, prices: Sequence[Price], most_cost: float = 1.0) -> None:
        self.most_cost = most_cost
        self.at = 0
        self.wanted = 0
        """The input that would be taken; where that is not ready it is to be loaded."""
        self.rest = 0
        """Frames for which no wider one is taken."""
        self.left_for: Cause | None = None
        """Why an input was left last."""
        self._prices = prices
        self._credit = 0.0
        self._weight = self._runs = self._besides = 0.0
        self._kept, self._next_rest = 0, FIRST_REST
        self._slowest = deque[float](maxlen=DETECTIONS)
        """Shares of the time that detections took, for each square."""

    @property
    def cost(self) -> float | None:
        """The cost of a frame of late, squares; None at the beginning."""
        return self.expected(self.at) if self._weight else None

    def expected(self, place: int) -> float:
        """The cost that a frame of late would have had with an input, squares."""
        return (self._runs * self._prices[place].squares + self._besides) / max(self._weight, 1.0)

    def too_wide(self, place: int) -> Cause | None:
        """Why an input cannot be taken now; None where it can."""
        price, most = self._prices[place].squares, self.most_cost
        besides = self._besides / max(self._weight, 1.0)
        if self.expected(place) > ROOM * most and price + besides > NO_DEARER * most:
            return "cost"
        return "time" if max(self._slowest, default=0.0) * price > ROOM else None

    def spent(self, use: DetectorUse, prices: Sequence[Price]) -> None:
        """Take what was spent since the last time, and choose the input of the next frame."""
        self._prices, self.wanted = prices, min(self.wanted, len(prices) - 1)
        self._count(use)
        if self._credit <= 0 and self.at:
            self._leave("cost")
        elif not self.rest and self._kept >= LEAST_FRAMES and self._credit >= MOST_CREDIT:
            places = range(len(prices))[::-1]
            self.wanted = next(place for place in places if place <= self.at or self.too_wide(place) is None)
            if self.wanted > self.at and prices[self.wanted].ready:
                self._enter(self.wanted)

    def ended(self, share: float) -> None:
        """A detection has taken this share of the time that it had; more than 1: it was too late."""
        self._slowest.append(share / self._prices[self.at].squares)
        if share > 1 and self.at:
            self._leave("time")

    def _count(self, use: DetectorUse) -> None:
        cost = use.runs * self._prices[self.at].squares + use.besides
        self._credit = min(self._credit + NO_DEARER * self.most_cost * use.frames - cost, MOST_CREDIT)
        if not self.at:
            self._credit = max(self._credit, 0.0)
        kept = (1 - 1 / SPAN) ** use.frames
        self._weight = kept * self._weight + use.frames
        self._runs, self._besides = kept * self._runs + use.runs, kept * self._besides + use.besides
        self.rest = max(0, self.rest - use.frames)
        self._kept += use.frames
        if self._kept >= LONGEST_REST:
            self._next_rest = FIRST_REST

    def _leave(self, cause: Cause) -> None:
        narrower = [place for place in range(self.at) if self._prices[place].ready and not self.too_wide(place)]
        self.left_for, self.rest = cause, self._next_rest
        self._next_rest = min(2 * self._next_rest, LONGEST_REST)
        self._credit = max(self._credit, AGAIN_CREDIT if narrower else 0.0)
        self._enter(max(narrower, default=0))

    def _enter(self, place: int) -> None:
        self.at = self.wanted = place
        self._kept = 0
