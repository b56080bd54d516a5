"""The pixels of a window: what moved between two detections in it, and where the objects between them were. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from operators.detect.needed.bisection import Bisection, Repeated, Span, Verdict
from operators.detect.needed.carried import aged, boxes_of, landmarks_in
from operators.detect.needed.changes import Cells, changed_cells, covered_cells
from operators.detect.needed.flow import Flow, flow, moved
from operators.detect.needed.matching import matched_pairs
from operators.detect.needed.policy import UNSTEADY_SHARE
from operators.detect.needed.reach import lone_pairs, may_be
from operators.detect.needed.thumbnail import thumbnail
from operators.frames.frame import Box, Region
from serving.common.tensors import Image

Corners = NDArray[np.float64]
"""One box as shares of the frame: x_min, y_min, x_max, y_max."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The frame before a window."""

    thumbnail: Image
    regions: Sequence[Region]
    age_s: float
    """Seconds since these were detected."""
    resting: Cells
    """Cells for whose movement the detector has had no word of late."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The regions of a frame of a window."""

    regions: list[Region]
    detected: bool
    window: int | None = None
    """The first frame of the window, by ``seq``."""


Pair = tuple[int, int]
"""An object of a span's first frame and the same object of its last, by their places among the regions."""


class Window:
    """One window. ``found`` takes milliseconds: call it in a thread, one call at a time."""

    def __init__(
        self,
        known: Known,
        images: Sequence[Image],
        times_s: Sequence[float],
        every: int,
        sure: float,
        detected: Sequence[bool] = (),
    ) -> None:
        """``times_s``: of the frame before and of each image; ``every``: the pace; ``sure``: see ``matching``;
        ``detected``: the images that were detected, if that is to be repeated."""
        self._sure = sure
        self._images, self.times_s = images, times_s
        self._thumbnails: dict[int, Image] = {0: known.thumbnail}
        self._flows: dict[int, Flow] = {}
        self._regions: dict[int, Sequence[Region]] = {0: known.regions}
        self._pairs: dict[Span, list[Pair]] = {}
        self._paths: dict[tuple[int, int], list[Corners]] = {}
        """Where flow moves objects of a frame that have no match as they lie, by frame and place: frame by frame."""
        self._resting, self._age_s = known.resting, known.age_s
        self.news: Cells = np.zeros_like(known.resting)
        """Cells that changed by the window's end and that no known box covers."""
        is_known = len(detected) == len(images)
        self.bisection = Repeated(times_s, every, detected) if is_known else Bisection(times_s, every)
        self.planned: list[Planned] = []
        """The regions of each image, once nothing is wanted any more."""

    @property
    def wanted(self) -> int | None:
        """The frame to be detected next, 1 for the first image; None at the end."""
        return self.bisection.wanted

    @property
    def end(self) -> Image:
        """The thumbnail of the last frame."""
        return self._small(len(self._images))

    @property
    def regions(self) -> Sequence[Region]:
        """The objects of the last frame."""
        return self._regions[len(self._images)]

    def found(self, regions: Sequence[Region]) -> None:
        """Take what the detector found on the wanted frame, and judge until another is wanted or all is known."""
        assert self.wanted is not None
        self._regions[self.wanted] = regions
        self.bisection.detected()
        if len(self._regions) == 2:
            self._learn_news()
        while (span := self.bisection.open) is not None:
            self.bisection.judge(self._verdict(span))
        if self.wanted is None:
            self.planned = self._plan()

    def _plan(self) -> list[Planned]:
        planned = {at: Planned(list(regions), True) for at, regions in self._regions.items()}
        for span in self.bisection.filled:
            planned |= {at: Planned(self._between(span, at), False) for at in range(span.first + 1, span.last)}
        return [planned[at] for at in range(1, len(self._images) + 1)]

    def _learn_news(self) -> None:
        changed = changed_cells(self._small(0), self.end)
        self.news = changed & ~covered_cells(boxes_of(self._regions[0]))
        self._resting = self._resting | (self.news & ~covered_cells(boxes_of(self.regions)))

    def _verdict(self, span: Span) -> Verdict:
        changed = changed_cells(self._small(span.first), self._small(span.middle))
        if changed.mean() >= UNSTEADY_SHARE:
            return "cut"
        self._pairs[span] = self._match(span)
        if not self._explained(span):
            later = changed_cells(self._small(span.middle), self._small(span.last))
            return "cut" if later.mean() >= UNSTEADY_SHARE else "unexplained"
        ends = [*self._regions[span.first], *self._regions[span.last], *self._between(span, span.middle)]
        news = changed & ~covered_cells(boxes_of(ends)) & ~self._resting
        return "unexplained" if news.any() else "explained"

    def _match(self, span: Span) -> list[Pair]:
        """Match the objects as they lie; those that are left as flow moves them; then those that have no other choice.

        The last ones move too fast for flow, and along a straight line here.
        """
        before, after = self._regions[span.first], self._regions[span.last]
        pairs = matched_pairs(before, after)
        gone, new = _left(before, [i for i, _ in pairs]), _left(after, [j for _, j in pairs])
        moving = [i for i in gone if any(may_be(before[i], after[j], self._sure) for j in new)]
        if not moving:
            return pairs
        arrived = [replace(before[i], box=Box(*map(float, self._carried(span.first, i, span.last)))) for i in moving]
        pairs += [(moving[i], new[j]) for i, j in matched_pairs(arrived, [after[j] for j in new])]
        gone, new = _left(before, [i for i, _ in pairs]), _left(after, [j for _, j in pairs])
        lone = lone_pairs([before[i] for i in gone], [after[j] for j in new], self._sure)
        for i, _ in lone:
            self._paths.pop((span.first, gone[i]), None)
        return pairs + [(gone[i], new[j]) for i, j in lone]

    def _explained(self, span: Span) -> bool:
        """Whether all objects of the ends match, but for those that come and go by themselves."""
        before, after = self._regions[span.first], self._regions[span.last]
        of_before, of_after = zip(*self._pairs[span], strict=True) if self._pairs[span] else ((), ())
        odd = [before[i] for i in _left(before, of_before)] + [after[j] for j in _left(after, of_after)]
        return not any(region.confidence >= self._sure for region in odd)

    def _between(self, span: Span, at: int) -> list[Region]:
        """The objects of a frame of a span: the matched ones on their way, others where they were seen last or next."""
        pairs, before, after = self._pairs[span], self._regions[span.first], self._regions[span.last]
        begin_s, end_s, now_s = (self.times_s[each] for each in (span.first, span.last, at))
        share = (now_s - begin_s) / (end_s - begin_s) if end_s > begin_s else 0.5
        first, last = boxes_of(before), boxes_of(after)
        placed = []
        for i, j in pairs:
            carried = (span.first, i) in self._paths
            here, there = ((self._carried(span.first, i, x) if carried else first[i]) for x in (at, span.last))
            placed.append((before[i], here + share * (last[j] - there)))
        if share < 0.5:
            placed += [(before[i], first[i]) for i in _left(before, [i for i, _ in pairs])]
        else:
            placed += [(after[j], last[j]) for j in _left(after, [j for _, j in pairs])]
        age_s = now_s - begin_s + (self._age_s if span.first == 0 else 0.0)
        return [aged(each, age_s) for each in _placed(placed)]

    def _carried(self, first: int, index: int, at: int) -> Corners:
        """Where flow has moved an object of a frame by a later one."""
        path = self._paths.setdefault((first, index), [boxes_of(self._regions[first])[index]])
        while len(path) <= at - first:
            path.append(moved(self._flow(first + len(path) - 1), path[-1]))
        return path[at - first]

    def _small(self, at: int) -> Image:
        if at not in self._thumbnails:
            self._thumbnails[at] = thumbnail(self._images[at - 1])
        return self._thumbnails[at]

    def _flow(self, at: int) -> Flow:
        """How the pixels moved from this frame to the next."""
        if at not in self._flows:
            self._flows[at] = flow(self._small(at), self._small(at + 1))
        return self._flows[at]


def _left(regions: Sequence[Region], taken: Collection[int]) -> list[int]:
    return [each for each in range(len(regions)) if each not in taken]


def _placed(regions: Iterable[tuple[Region, Corners]]) -> list[Region]:
    """The regions at their corners, those outside the frame left out."""
    clipped = ((region, corners, np.clip(corners, 0.0, 1.0)) for region, corners in regions)
    return [
        replace(region, box=Box(*map(float, box)), landmarks=landmarks_in(region, Box(*map(float, corners))))
        for region, corners, box in clipped
        if box[0] < box[2] and box[1] < box[3]
    ]
