"""The pixels of a window: what moved between two detections in it, and where the objects between them were. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from operators.detect.needed.bisection import Bisection, FrameSpan, Repeated, Verdict
from operators.detect.needed.carried import aged, centred, covered_cells, identify, inside
from operators.detect.needed.doubt import Halved
from operators.detect.needed.matching import misplaced
from operators.detect.needed.policy import UNSTEADY_SHARE
from operators.frames.changes import Cells, changed_cells, thumbnail
from operators.frames.frame import Region, boxes_of
from operators.frames.planes import Pixels
from operators.track.tracker import KalmanTracker
from serving.common.tensors import Image


@dataclass(frozen=True, slots=True, eq=False)
class KnownFrame:
    """The frame before a window."""

    thumbnail: Image
    regions: Sequence[Region]
    age_s: float
    """Seconds since these were detected."""
    tracker: KalmanTracker
    """As it was after that detection."""
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


class FrameWindow:
    """One window. ``found`` takes milliseconds: call it in a thread, one call at a time."""

    def __init__(
        self,
        known: KnownFrame,
        images: Sequence[Pixels],
        times_s: Sequence[float],
        every: int,
        sure: float,
        detected: Sequence[bool] = (),
        strict: bool = False,
    ) -> None:
        """``times_s``: of the frame before and of each image; ``every``: the pace; ``sure``: see ``matching``;
        ``detected``: the images that were detected, if that is to be repeated; ``strict``: see ``doubt``."""
        self._sure, self._strict = sure, strict
        self._images, self.times_s = images, times_s
        self._thumbnails: dict[int, Image] = {0: known.thumbnail}
        self._regions: dict[int, Sequence[Region]] = {0: known.regions}
        self._trackers: dict[int, KalmanTracker] = {0: known.tracker}
        """As they are after the detections up to a frame."""
        self._pairs: dict[FrameSpan, list[Pair]] = {}
        self._misplaced: dict[int, float] = {}
        """By the middle of a span: the share of the detector's objects that lie elsewhere than they would be filled."""
        self.twice = Halved()
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
        return self._small(len(self._images))

    @property
    def regions(self) -> Sequence[Region]:
        return self._regions[len(self._images)]

    @property
    def tracker(self) -> KalmanTracker:
        """As it is after all detections."""
        return self._tracker(len(self._images))

    def found(self, regions: Sequence[Region]) -> None:
        """Take what the detector found on the wanted frame, and judge until another is wanted or all is known."""
        assert self.wanted is not None
        self._regions[self.wanted] = regions
        self._trackers = {at: tracker for at, tracker in self._trackers.items() if at < self.wanted}
        self.bisection.detected()
        if (span := self.bisection.halved) is not None:
            self._learn_doubt(span)
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

    @property
    def doubtful(self) -> float:
        """So many filled frames are wrong, if each is as wrong as the detected ones beside it would have been."""
        return sum((span.last - span.first - 1) * self._doubt(span) for span in self.bisection.filled)

    def _doubt(self, span: FrameSpan) -> float:
        return max(self._misplaced.get(span.first, 0.0), self._misplaced.get(span.last, 0.0))

    def _learn_doubt(self, span: FrameSpan) -> None:
        """Compare what the detector has found in the middle of a span with what would have been filled in there."""
        found = misplaced(self._regions[span.middle], self._between(span, span.middle), self._sure)
        if (whole := self._doubt(span)) > 0:
            self.twice.wholes += whole
            self.twice.halves += found
        self._misplaced[span.middle] = found

    def _verdict(self, span: FrameSpan) -> Verdict:
        self._pairs[span] = self._match(span)
        changed = changed_cells(self._small(span.first), self._small(span.middle))
        if changed.mean() >= UNSTEADY_SHARE:
            return "cut"
        if self._strict and (self._doubt(span) or len(self._regions) == 2):
            return "cut"
        if not self._explained(span):
            later = changed_cells(self._small(span.middle), self._small(span.last))
            return "cut" if later.mean() >= UNSTEADY_SHARE else "unexplained"
        ends = [*self._regions[span.first], *self._regions[span.last], *self._between(span, span.middle)]
        news = changed & ~covered_cells(boxes_of(ends)) & ~self._resting
        return "unexplained" if news.any() else "explained"

    def _match(self, span: FrameSpan) -> list[Pair]:
        """Match the objects by their motion: those at the end that the tracker takes for ones at the beginning."""
        self._tracker(span.last)
        before = enumerate(self._regions[span.first])
        places = {region.identity: i for i, region in before if region.identity is not None}
        after = enumerate(self._regions[span.last])
        return [(places[region.identity], j) for j, region in after if region.identity in places]

    def _tracker(self, at: int) -> KalmanTracker:
        """The tracker after the detections up to a frame, whose objects it then has given their numbers."""
        if at not in self._trackers:
            before = max(each for each in self._regions if each < at)
            elapsed_s = self.times_s[at] - self.times_s[before] + (self._age_s if before == 0 else 0.0)
            tracker = self._tracker(before).copy()
            identify(self._regions[at], tracker, elapsed_s)
            self._trackers[at] = tracker
        return self._trackers[at]

    def _explained(self, span: FrameSpan) -> bool:
        """Whether all objects of the ends match, but for those that come and go by themselves."""
        before, after = self._regions[span.first], self._regions[span.last]
        of_before, of_after = zip(*self._pairs[span], strict=True) if self._pairs[span] else ((), ())
        odd = [before[i] for i in _left(before, of_before)] + [after[j] for j in _left(after, of_after)]
        relabelled = [(before[i], after[j]) for i, j in self._pairs[span] if before[i].label != after[j].label]
        odd += [region for pair in relabelled for region in pair]
        return not any(region.confidence >= self._sure for region in odd)

    def _between(self, span: FrameSpan, at: int) -> list[Region]:
        """The objects of a frame of a span: the matched ones on their way, then those that one end lacks."""
        pairs, before, after = self._pairs[span], self._regions[span.first], self._regions[span.last]
        begin_s, end_s, now_s = (self.times_s[each] for each in (span.first, span.last, at))
        share = (now_s - begin_s) / (end_s - begin_s) if end_s > begin_s else 0.5
        first, last = boxes_of(before), boxes_of(after)
        on_their_way = (
            (before[i] if share < 0.5 else after[j], first[i] + share * (last[j] - first[i])) for i, j in pairs
        )
        found = inside(on_their_way)
        found += self._gone(span, at, [before[i] for i in _left(before, [i for i, _ in pairs])], share < 0.5)
        if share >= 0.5:
            found += [after[j] for j in _left(after, [j for _, j in pairs])]
        age_s = now_s - begin_s + (self._age_s if span.first == 0 else 0.0)
        return [aged(each, age_s) for each in found]

    def _gone(self, span: FrameSpan, at: int, gone: Sequence[Region], early: bool) -> list[Region]:
        """Objects that the end lacks, where their motion has led them if that is known.

        Those that leave the picture by it are there until they have; ``early``: so are all others.
        """
        known_s = self.times_s[span.first] - (self._age_s if span.first == 0 else 0.0)
        tracker = self._tracker(span.first)
        now, at_end = (tracker.centres(self.times_s[each] - known_s) for each in (at, span.last))
        moving = [each for each in gone if each.identity in now]
        ends = [each for each in gone if each.identity in at_end]
        stays = {each.identity for each in centred(ends, at_end)}
        leaves = {each.identity for each in ends} - stays
        return [
            *centred([each for each in moving if early or each.identity in leaves], now),
            *(each for each in gone if early and each.identity not in now),
        ]

    def _small(self, at: int) -> Image:
        if at not in self._thumbnails:
            self._thumbnails[at] = thumbnail(self._images[at - 1])
        return self._thumbnails[at]


def _left(regions: Sequence[Region], taken: Iterable[int]) -> list[int]:
    return sorted(set(range(len(regions))).difference(taken))
