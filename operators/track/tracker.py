"""The life of tracks: expected, found again in passes as in ByteTrack (Zhang et al. 2022), confirmed, ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Region
from operators.track.association import Pairs, assign, distances_and_costs
from operators.track.boxes import Array, corners, corners_of, shapes_of
from operators.track.kalman import begin, correct, predict
from operators.track.settings import TrackSettings

MAX_OBJECTS = 1000
"""Regions that are followed per frame, the most confident ones, and tracks that live, those seen last."""
SURE = 0.5
"""The confidence from which regions choose their track before the others."""
LEAST_STEP_S, LONGEST_STEP_S = 0.005, 86_400.0
"""A frame takes at least this long, so that tracks age even where the stream's time stands still, and at most a day."""
PATIENCE_FRAMES = 1.5
"""A track lives at least for this many of the last interval: it may be found again where frames are far apart."""
_ROUNDING_S = 1e-6

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class _Seen:
    """The regions of a frame that can be followed, the most confident first; ``places`` are theirs among all."""

    places: list[int]
    shapes: Array
    labels: NDArray[np.object_]
    sure: Mask

    @classmethod
    def of(cls, regions: Sequence[Region]) -> _Seen:
        """Their order depends on the regions alone, not on the order in which they come."""
        scores = [0.0 if math.isnan(one.confidence) else one.confidence for one in regions]
        boxes = [corners(one) for one in regions]
        finite = [place for place, box in enumerate(boxes) if all(map(math.isfinite, box))]
        places = sorted(finite, key=lambda place: (-scores[place], boxes[place], regions[place].label))[:MAX_OBJECTS]
        chosen = [regions[place] for place in places]
        labels = np.array([one.label for one in chosen], object)
        return cls(
            places, shapes_of(corners_of(chosen)), labels, np.array([scores[place] >= SURE for place in places], bool)
        )


class KalmanTracker:
    """``operators.track.operator.Tracker`` by constant-velocity Kalman filters and assignment of least cost."""

    def __init__(self, settings: TrackSettings) -> None:
        self._settings = settings
        self._next = 0
        self._last_step_s = 0.0
        self._motion = begin(np.empty((0, 4)))
        self._numbers = np.empty(0, np.int64)
        self._labels = np.empty(0, object)
        self._seen_s = np.empty(0)
        self._unseen_s = np.empty(0)
        self._confirmed = np.empty(0, bool)

    def update(self, regions: Sequence[Region], elapsed_s: float) -> list[int | None]:
        """See ``Tracker``. Time that is no number or runs back counts as none."""
        step_s = LEAST_STEP_S if math.isnan(elapsed_s) else min(max(elapsed_s, LEAST_STEP_S), LONGEST_STEP_S)
        self._age(step_s)
        if not regions:
            return []
        seen = _Seen.of(regions)
        owners = np.full(len(seen.places), -1, np.intp)
        if pairs := self._associated(seen):
            tracks, found = np.array(pairs, np.intp).T
            self._found_again(tracks, found, seen, step_s)
            owners[found] = tracks
        if len(pairs) < len(owners):
            self._born(owners, seen)
        self._confirmed = self._confirmed | (self._seen_s >= self._settings.confirm_s - _ROUNDING_S)
        numbers: list[int | None] = [None] * len(regions)
        for place, owner in zip(seen.places, owners.tolist(), strict=True):
            if self._confirmed[owner]:
                numbers[place] = int(self._numbers[owner])
        self._keep_latest()
        return numbers

    def alive(self) -> set[int]:
        """See ``Tracker``."""
        return set(self._numbers[self._confirmed].tolist())

    def _age(self, step_s: float) -> None:
        """Let time pass: tracks move on, and those that were not seen for too long end.

        Until a track is confirmed, the time it was missed is taken off the time it was seen, and it ends below 0.
        """
        patience_s = max(self._settings.lost_after_s, PATIENCE_FRAMES * self._last_step_s) + _ROUNDING_S
        self._last_step_s = step_s
        if not len(self._numbers):
            return
        missed = (self._unseen_s > 0) & ~self._confirmed
        self._seen_s = self._seen_s - step_s * missed
        self._unseen_s = self._unseen_s + step_s
        self._keep(np.flatnonzero((self._unseen_s <= patience_s) & (self._seen_s > -_ROUNDING_S)))
        self._motion = predict(self._motion, min(step_s, patience_s))

    def _associated(self, seen: _Seen) -> Pairs:
        """Confirmed tracks choose first, among sure regions and then among all; what is left goes to new tracks."""
        if not len(self._numbers) or not len(seen.places):
            return []
        other_label = self._labels[:, None] != seen.labels[None]
        distances, costs = distances_and_costs(self._motion, seen.shapes, other_label)
        allowed = (distances <= self._settings.max_distance) & (distances < 1)
        pairs: Pairs = []
        for choosers, offered in ((self._confirmed, seen.sure), (self._confirmed, True), (True, True)):
            for track, region in assign(costs, allowed & np.reshape(choosers, (-1, 1)) & offered):
                allowed[track] = allowed[:, region] = False
                pairs.append((track, region))
        return pairs

    def _found_again(self, tracks: Places, found: Places, seen: _Seen, step_s: float) -> None:
        self._motion = self._motion.with_changed(tracks, correct(self._motion.kept(tracks), seen.shapes[found]))
        self._labels[tracks] = seen.labels[found]
        self._seen_s[tracks] += step_s
        self._unseen_s[tracks] = 0.0

    def _born(self, owners: Places, seen: _Seen) -> None:
        """Begin a track for each region without an owner, and enter it there."""
        fresh = np.flatnonzero(owners < 0)
        owners[fresh] = len(self._numbers) + np.arange(len(fresh))
        self._motion = self._motion.joined(begin(seen.shapes[fresh]))
        self._numbers = np.append(self._numbers, self._next + np.arange(len(fresh)))
        self._next += len(fresh)
        self._labels = np.append(self._labels, seen.labels[fresh])
        self._seen_s, self._unseen_s = (
            np.append(times, np.zeros(len(fresh))) for times in (self._seen_s, self._unseen_s)
        )
        self._confirmed = np.append(self._confirmed, np.zeros(len(fresh), bool))

    def _keep_latest(self) -> None:
        if len(self._numbers) > MAX_OBJECTS:
            order = np.lexsort((-self._numbers, -self._seen_s, self._unseen_s))
            self._keep(np.sort(order[:MAX_OBJECTS]))

    def _keep(self, which: Places) -> None:
        if len(which) < len(self._numbers):
            self._motion, self._labels = self._motion.kept(which), self._labels[which]
            self._numbers, self._confirmed = self._numbers[which], self._confirmed[which]
            self._seen_s, self._unseen_s = self._seen_s[which], self._unseen_s[which]
