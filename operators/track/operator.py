"""Track: gives regions identities that last over frames. ``tracker.py`` says how they are found again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.track.tracker import KalmanTracker, TrackSettings
from operators.wire.bounds import LARGEST_COUNT
from serving.common.threads import in_thread

IDS_PER_FRAME = 1000
"""A track's id is ``seq of birth × IDS_PER_FRAME + k``: unique in a run with no counter to lose in a restart. Where a
query has n trackers, it is n times that, and the tracker's place."""
FEW = 40
"""Up to this many regions are tracked on the event loop (``benchmarks/tracking.py`` times it); more in a thread."""


class Tracker(Protocol):
    """A tracker, as the operator needs it. One instance follows one stream."""

    def update(self, regions: Sequence[Region], elapsed_s: float) -> list[int | None]:
        """For each region the tracker's own number of its track, or None while that is not confirmed."""

    def alive(self) -> set[int]:
        """The numbers of the tracks that may still be found again."""


class Track:
    """Operator: sets ``track_id`` of the regions it is given."""

    def __init__(self, settings: TrackSettings | None = None, place: int = 0, trackers: int = 1) -> None:
        """``place``: among the trackers of its query, so that no two of them give one id."""
        self._settings = settings or TrackSettings()
        self._place, self._trackers = place, trackers
        self._streams: dict[tuple[str, str], _StreamTracker] = {}

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        key = (frame.stream, frame.run)
        known = self._streams.get(key)
        if known is None or known.elapsed_s(frame) < -self._settings.lost_after_s:
            self.forget(frame.stream)
            known = self._streams[key] = _StreamTracker(KalmanTracker(self._settings), frame.media_time_s)
        work = partial(known.update, frame, regions, self._id)
        if len(regions) > FEW:
            await in_thread(work)
        else:
            work()
        return []

    def _id(self, seq: int, number: int) -> int:
        return ((seq * IDS_PER_FRAME + number) * self._trackers + self._place) % LARGEST_COUNT

    def forget(self, stream: str) -> None:
        for key in [key for key in self._streams if key[0] == stream]:
            del self._streams[key]


class _StreamTracker:
    """The tracker of one capture run and the ids given so far."""

    def __init__(self, tracker: Tracker, media_time_s: float) -> None:
        self._tracker = tracker
        self._last_s = media_time_s
        self._ids: dict[int, int] = {}

    def elapsed_s(self, frame: Frame) -> float:
        """Media time since the frame before, below 0 where it ran back; 0 where one of the two has no time."""
        elapsed_s = frame.media_time_s - self._last_s
        return 0.0 if math.isnan(elapsed_s) else elapsed_s

    def update(self, frame: Frame, regions: Sequence[Region], id_of: Callable[[int, int], int]) -> None:
        """Give the regions their ids; ``id_of``: that of the n-th track that is new in the frame of this ``seq``."""
        numbers = self._tracker.update(regions, max(self.elapsed_s(frame), 0.0))
        self._last_s = frame.media_time_s
        fresh = sorted({number for number in numbers if number is not None and number not in self._ids})
        self._ids |= {number: id_of(frame.seq, place) for place, number in enumerate(fresh)}
        for region, number in zip(regions, numbers, strict=True):
            if number is not None:
                region.track_id = self._ids[number]
        alive = self._tracker.alive()
        self._ids = {number: id_ for number, id_ in self._ids.items() if number in alive}
