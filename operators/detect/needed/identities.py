"""Whether objects are the same at both ends of a gap between two detections, as audits see it. Pure.

An audit that runs the detector on a frame of the gap divides it in two. Over each half objects are followed by their
motion anew: halves are shorter, so fewer objects are confused. Where that leads to another object than the one that was
followed over the whole gap, its identity was not kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from operators.detect.needed.account import SkipTally
from operators.frames.frame import Region
from operators.track.settings import TrackSettings
from operators.track.tracker import KalmanTracker

ENDS = 2
"""Detections before a gap from which motion is learnt."""
MOST_GAPS = 4
"""Gaps that wait for their audit or for their end; older ones are given up."""
MOST_OBJECTS = 100
"""Detections with more objects are not compared: that takes milliseconds."""


@dataclass(frozen=True, slots=True, eq=False)
class DetectedFrame:
    """A frame on which the detector ran."""

    media_time_s: float
    regions: Sequence[Region]


@dataclass(eq=False)
class Gap:
    """Frames between two detections, one of which is audited."""

    before: Sequence[DetectedFrame]
    middle: DetectedFrame | None = None
    """The audit's detection; None as long as it has not been made."""
    after: DetectedFrame | None = None
    """None as long as the gap lasts."""


class Gaps:
    """The gaps of one run of a stream."""

    def __init__(self, tally: SkipTally) -> None:
        """``tally``: counts the objects that are compared."""
        self._tally = tally
        self._ends: deque[DetectedFrame] = deque(maxlen=ENDS)
        self._open: deque[Gap] = deque(maxlen=MOST_GAPS)

    def detected(self, end: DetectedFrame) -> None:
        """The detector has run on a frame in its turn: all gaps end with it, and the next one may begin."""
        for gap in [gap for gap in self._open if gap.after is None]:
            gap.after = end
            self._compare(gap)
        self._ends.append(end)

    def opened(self) -> Gap:
        """A frame behind the latest detection will be audited."""
        gap = Gap(tuple(self._ends))
        self._open.append(gap)
        return gap

    def audited(self, gap: Gap, middle: DetectedFrame) -> None:
        """Take what the detector found for an audit; a gap that was given up is left."""
        if gap in self._open:
            gap.middle = middle
            self._compare(gap)

    def _compare(self, gap: Gap) -> None:
        if gap.middle is None or gap.after is None:
            return
        self._open.remove(gap)
        if gap.before and all(len(each.regions) <= MOST_OBJECTS for each in (*gap.before, gap.middle, gap.after)):
            kept, compared = kept_identities(gap.before, gap.middle, gap.after)
            self._tally.identities_kept += kept
            self._tally.identities_compared += compared


def kept_identities(before: Sequence[DetectedFrame], middle: DetectedFrame, after: DetectedFrame) -> tuple[int, int]:
    """Return how many objects of the end are the one at the beginning that their ``identity`` says, and of how many.

    ``before``: the latest detections before the gap, with the one at its beginning last.
    """
    tracker, last_s = KalmanTracker(TrackSettings()), before[0].media_time_s
    numbers: list[Sequence[int | None]] = []
    for each in (*before, middle, after):
        numbers.append(tracker.follow(each.regions, each.media_time_s - last_s))
        last_s = each.media_time_s
    first = _places(numbers[len(before) - 1])
    said = _places([each.identity for each in before[-1].regions])
    kept = compared = 0
    for region, number in zip(after.regions, numbers[-1], strict=True):
        one, other = said.get(region.identity), first.get(number)
        kept += one == other is not None
        compared += not (one is other is None)
    return kept, compared


def _places(numbers: Sequence[int | None]) -> dict[int | None, int]:
    return {number: place for place, number in enumerate(numbers) if number is not None}
