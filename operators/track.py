"""Track: gives regions identities that last over frames.

The tracking itself is norfair's (Kalman filter per object, assignment by distance). It counts in steps, so elapsed
time is turned into steps of ``STEP_S``: the same query behaves alike at 5 and at 25 frames per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import norfair
import numpy as np
from numpy.typing import NDArray

from operators.base import Call
from operators.frame import Box, Frame, Region

STEP_S = 1 / 30
IDS_PER_FRAME = 1000
"""A track's id is ``seq of birth × IDS_PER_FRAME + k``: unique in a run with no counter to lose in a restart."""


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """Parameters of the tracker."""

    confirm_s: float = 0.15
    """A region gets its id once it was seen this long, so that a speck of noise gets none."""
    lost_after_s: float = 1.5
    """A track that was not seen this long is forgotten."""
    max_distance: float = 0.8
    """1 − intersection over union of the predicted and the found box, up to which they may be the same object."""


class Tracker(Protocol):
    """What the operator needs of a tracking library. One instance follows one stream."""

    def update(self, regions: Sequence[Region], elapsed_s: float) -> list[int | None]:
        """For each region the tracker's own number of its track, or None while that is not confirmed."""
        ...

    def alive(self) -> set[int]:
        """The numbers of the tracks that may still be found again."""
        ...


class NorfairTracker:
    """``Tracker`` by norfair (Tryolabs, BSD-3)."""

    def __init__(self, settings: TrackSettings) -> None:
        self._settings = settings
        self._longest_gap = max(2, round(settings.lost_after_s / STEP_S))
        self._owed_s = 0.0
        self._tracker = norfair.Tracker(
            distance_function="iou",
            distance_threshold=settings.max_distance,
            hit_counter_max=self._longest_gap,
            initialization_delay=min(round(settings.confirm_s / STEP_S), self._longest_gap - 1),
            past_detections_length=0,
        )

    def update(self, regions: Sequence[Region], elapsed_s: float) -> list[int | None]:
        """See ``Tracker``."""
        steps = self._steps(elapsed_s)
        for _ in range(steps - 1):
            self._tracker.update()
        # Labels stay out of it: a detector that wavers between car and truck must not break the track.
        detections = [norfair.Detection(_corners(region.box), data=i) for i, region in enumerate(regions)]
        numbers: list[int | None] = [None] * len(regions)
        for track in self._tracker.update(detections, period=steps):
            found = track.last_detection
            if any(found is detection for detection in detections):
                numbers[found.data] = track.id
        return numbers

    def alive(self) -> set[int]:
        """See ``Tracker``."""
        return {track.id for track in self._tracker.tracked_objects if track.id is not None}

    def _steps(self, elapsed_s: float) -> int:
        """Whole steps for the time passed, at least one; what is left over is carried to the next frame."""
        self._owed_s += elapsed_s
        steps = min(max(1, round(self._owed_s / STEP_S)), self._longest_gap + 1)
        self._owed_s = min(max(self._owed_s - steps * STEP_S, -STEP_S), STEP_S)
        return steps


class Track:
    """Operator: sets ``track_id`` of the regions it is given."""

    def __init__(self, settings: TrackSettings | None = None) -> None:
        self._settings = settings or TrackSettings()
        self._streams: dict[tuple[str, str], _Stream] = {}

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Give each region the id of its track."""
        key = (frame.stream, frame.run)
        if key not in self._streams:
            self.forget(frame.stream)
            self._streams[key] = _Stream(NorfairTracker(self._settings), frame.media_time_s)
        self._streams[key].update(frame, regions)
        return []

    def forget(self, stream: str) -> None:
        """Drop the stream's tracks."""
        for key in [key for key in self._streams if key[0] == stream]:
            del self._streams[key]


class _Stream:
    """The tracker of one capture run and the ids given so far."""

    def __init__(self, tracker: Tracker, media_time_s: float) -> None:
        self._tracker = tracker
        self._last_s = media_time_s
        self._ids: dict[int, int] = {}

    def update(self, frame: Frame, regions: Sequence[Region]) -> None:
        elapsed_s = max(frame.media_time_s - self._last_s, 0.0)
        self._last_s = frame.media_time_s
        born = 0
        for region, number in zip(regions, self._tracker.update(regions, elapsed_s), strict=True):
            if number is None:
                continue
            if number not in self._ids:
                self._ids[number] = frame.seq * IDS_PER_FRAME + born
                born += 1
            region.track_id = self._ids[number]
        alive = self._tracker.alive()
        self._ids = {number: id_ for number, id_ in self._ids.items() if number in alive}


def _corners(box: Box) -> NDArray[np.float64]:
    return np.array([[box.x_min, box.y_min], [box.x_max, box.y_max]])
