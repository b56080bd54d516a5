"""The life of tracks: expected, found again in passes as in ByteTrack (Zhang et al. 2022), confirmed, ended.

Only detections are measurements. A region that its detect node has moved on from a detection belongs to the track of
that detection, whatever lies near it; the track goes where its motion leads it until it is detected again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Region, boxes_of
from operators.track.association import Pairs, assign, distances_and_costs
from operators.track.kalman import Array, begin, corners_of, correct, predict, shapes_of


@dataclass(frozen=True, slots=True)
class TrackSettings:
    confirm_s: float = 0.15
    """Time that a region must be seen before it gets its id, so that noise gets none."""
    lost_after_s: float = 1.5
    """Time without being seen after which a track ends."""
    max_distance: float = 0.8
    """1 − intersection over union of the predicted and the found box, widened by what is not known of the predicted
    place, up to which they may be the same object."""


MAX_OBJECTS = 1000
"""Regions that are followed per frame, the most confident ones, and tracks that live, those seen last."""
MOST_NAMES = 2 * MAX_OBJECTS
"""Names that detect nodes gave to tracks, the latest ones."""
SURE = 0.5
"""The confidence from which regions choose their track before the others."""
LEAST_STEP_S, LONGEST_STEP_S = 0.005, 86_400.0
"""A frame takes at least this long, so that tracks age even where the stream's time stands still, and at most a day."""
PATIENCE_FRAMES = 1.5
"""A track lives at least for this many of the last interval: it may be found again where frames are far apart."""
KNOWN = 0.11
"""The step of a track is known if its standard deviation is at most this share of the box: that of a detection."""
_ROUNDING_S = 1e-6

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


Centres = Mapping[int, tuple[float, float]]
"""Places of tracks by their numbers, shares of the frame."""
Carried = tuple[str, int]
"""A detect node, and the number under which it follows an object."""


@dataclass(frozen=True)
class _Seen:
    """Detections of a frame that can be followed, the most confident first; ``places`` are theirs among all regions."""

    places: list[int]
    shapes: Array
    labels: NDArray[np.object_]
    sure: Mask

    @classmethod
    def of(cls, regions: Sequence[Region]) -> _Seen:
        """Their order depends on the regions alone, not on the order in which they come."""
        scores = [0.0 if math.isnan(one.confidence) else one.confidence for one in regions]
        boxes = boxes_of(regions).tolist()
        detected = [place for place, one in enumerate(regions) if one.age_s is None]
        finite = [place for place in detected if all(map(math.isfinite, boxes[place]))]
        places = sorted(finite, key=lambda place: (-scores[place], boxes[place], regions[place].label))[:MAX_OBJECTS]
        chosen = [regions[place] for place in places]
        labels = np.array([one.label for one in chosen], object)
        return cls(
            places, shapes_of(corners_of(chosen)), labels, np.array([scores[place] >= SURE for place in places], bool)
        )


class KalmanTracker:
    """``operators.track.operator.Tracker`` by constant-velocity Kalman filters and assignment of least cost."""

    def __init__(self, settings: TrackSettings, first: int = 0) -> None:
        """``first``: the number of its first track."""
        self._settings = settings
        self.next = first
        """The number of the next track."""
        self._last_step_s = 0.0
        self._motion = begin(np.empty((0, 4)))
        self._numbers = np.empty(0, np.int64)
        self._labels = np.empty(0, object)
        self._seen_s = np.empty(0)
        self._unseen_s = np.empty(0)
        self._carried_s = np.empty(0)
        """How long each was carried by unsure regions since it was detected: it was there if it is detected again."""
        self._confirmed = np.empty(0, bool)
        self._carried: dict[Carried, int] = {}
        """Numbers of the tracks that detect nodes follow, by their names for them."""

    def copy(self) -> KalmanTracker:
        """A tracker that goes on from here by itself."""
        twin = copy(self)  # what is not copied here is never changed in place
        twin._labels, twin._carried = self._labels.copy(), dict(self._carried)
        twin._seen_s, twin._unseen_s = self._seen_s.copy(), self._unseen_s.copy()
        twin._carried_s = self._carried_s.copy()
        return twin

    def update(self, regions: Sequence[Region], elapsed_s: float) -> list[int | None]:
        numbers, confirmed = self.follow(regions, elapsed_s), self.alive()
        return [number if number in confirmed else None for number in numbers]

    def follow(self, regions: Sequence[Region], elapsed_s: float) -> list[int | None]:
        """The same, with numbers of tracks that are not confirmed too. Time that is none or runs back counts as 0."""
        step_s = LEAST_STEP_S if math.isnan(elapsed_s) else min(max(elapsed_s, LEAST_STEP_S), LONGEST_STEP_S)
        self._age(step_s)
        if not regions:
            return []
        numbers: list[int | None] = [None] * len(regions)
        carried = self._carry(regions, numbers, step_s)
        seen = _Seen.of(regions)
        owners = np.full(len(seen.places), -1, np.intp)
        if pairs := self._associated(seen, ~carried):
            tracks, found = np.array(pairs, np.intp).T
            self._found_again(tracks, found, seen, step_s)
            owners[found] = tracks
        if len(pairs) < len(owners):
            self._born(owners, seen)
        self._confirmed = self._confirmed | (self._seen_s >= self._settings.confirm_s - _ROUNDING_S)
        for place, owner in zip(seen.places, owners.tolist(), strict=True):
            numbers[place] = number = int(self._numbers[owner])
            self._name(number, regions[place])
        self._keep_latest()
        return numbers

    def alive(self) -> set[int]:
        return set(self._numbers[self._confirmed].tolist())

    def centres(self, after_s: float) -> Centres:
        """Where tracks will be, shares of the frame, by their numbers: those whose steps in this time are known."""
        size = np.exp(self._motion.shape[:, 2:])
        spread = np.sqrt(self._motion.speed_variance[:, :2]) * after_s
        known = np.flatnonzero((spread <= KNOWN * size).all(axis=1))
        places = (self._motion.shape + after_s * self._motion.speed)[known, :2]
        return {int(self._numbers[track]): (x, y) for track, (x, y) in zip(known, places.tolist(), strict=True)}

    def _carry(self, regions: Sequence[Region], numbers: list[int | None], step_s: float) -> Mask:
        """Enter the numbers of tracks that detect nodes have carried here, and return which tracks these are.

        A sure region shows that its object is there; whether an unsure one does is seen at the next detection.
        """
        carried = np.zeros(len(self._numbers), bool)
        for place, region in enumerate(regions):
            if region.age_s is None or region.identity is None:
                continue
            number = self._carried.get((region.node, region.identity), -1)
            track = int(np.searchsorted(self._numbers, number))
            if track == len(carried) or self._numbers[track] != number or carried[track]:
                continue
            numbers[place], carried[track] = number, True
            (self._seen_s if region.confidence >= SURE else self._carried_s)[track] += step_s
        self._unseen_s[carried] = 0.0
        return carried

    def _name(self, number: int, region: Region) -> None:
        """Note what the region's detect node calls the track."""
        if region.identity is not None:
            name = region.node, region.identity
            self._carried.pop(name, None)
            self._carried[name] = number
            if len(self._carried) > MOST_NAMES:
                del self._carried[next(iter(self._carried))]

    def _age(self, step_s: float) -> None:
        """Let time pass: tracks move on, and those that were not seen for too long end.

        Until a track is confirmed, half of the time it was missed is taken off the time it was seen, and it ends below
        half a frame less than 0: one that is seen in every second frame is confirmed, one in every third is not.
        """
        patience_s = max(self._settings.lost_after_s, PATIENCE_FRAMES * self._last_step_s) + _ROUNDING_S
        self._last_step_s = step_s
        if not len(self._numbers):
            return
        missed = (self._unseen_s > 0) & ~self._confirmed
        self._seen_s = self._seen_s - step_s / 2 * missed
        self._carried_s = self._carried_s * ~missed
        self._unseen_s = self._unseen_s + step_s
        self._keep(np.flatnonzero((self._unseen_s <= patience_s) & (self._seen_s > -step_s / 2 - _ROUNDING_S)))
        self._motion = predict(self._motion, min(step_s, patience_s))

    def _associated(self, seen: _Seen, free: Mask) -> Pairs:
        """Confirmed tracks choose first, among sure regions and then among all; what is left goes to new tracks.

        ``free``: the tracks that are not carried.
        """
        if not len(self._numbers) or not len(seen.places):
            return []
        other_label = self._labels[:, None] != seen.labels[None]
        distances, costs = distances_and_costs(self._motion, seen.shapes, other_label)
        allowed = (distances <= self._settings.max_distance) & (distances < 1) & free[:, None]
        pairs: Pairs = []
        for choosers, offered in ((self._confirmed, seen.sure), (self._confirmed, True), (True, True)):
            for track, region in assign(costs, allowed & np.reshape(choosers, (-1, 1)) & offered):
                allowed[track] = allowed[:, region] = False
                pairs.append((track, region))
        return pairs

    def _found_again(self, tracks: Places, found: Places, seen: _Seen, step_s: float) -> None:
        self._motion = self._motion.with_changed(tracks, correct(self._motion.kept(tracks), seen.shapes[found]))
        self._labels[tracks] = seen.labels[found]
        self._seen_s[tracks] += step_s + self._carried_s[tracks]
        self._carried_s[tracks] = 0.0
        self._unseen_s[tracks] = 0.0

    def _born(self, owners: Places, seen: _Seen) -> None:
        """Begin a track for each region without an owner, and enter it there."""
        fresh = np.flatnonzero(owners < 0)
        owners[fresh] = len(self._numbers) + np.arange(len(fresh))
        self._motion = self._motion.joined(begin(seen.shapes[fresh]))
        self._numbers = np.append(self._numbers, self.next + np.arange(len(fresh)))
        self.next += len(fresh)
        self._labels = np.append(self._labels, seen.labels[fresh])
        self._seen_s, self._unseen_s, self._carried_s = (
            np.append(times, np.zeros(len(fresh))) for times in (self._seen_s, self._unseen_s, self._carried_s)
        )
        self._confirmed = np.append(self._confirmed, np.zeros(len(fresh), bool))

    def _keep_latest(self) -> None:
        if len(self._numbers) > MAX_OBJECTS:
            order = np.lexsort((-self._numbers, -self._seen_s, self._unseen_s))
            self._keep(np.sort(order[:MAX_OBJECTS]))

    def _keep(self, which: Places) -> None:
        if len(which) == len(self._numbers):
            return
        self._motion, self._labels = self._motion.kept(which), self._labels[which]
        self._numbers, self._confirmed = self._numbers[which], self._confirmed[which]
        self._seen_s, self._unseen_s = self._seen_s[which], self._unseen_s[which]
        self._carried_s = self._carried_s[which]
        kept = set(self._numbers.tolist())
        self._carried = {name: number for name, number in self._carried.items() if number in kept}
