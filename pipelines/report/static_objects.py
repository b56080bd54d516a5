"""Objects that never moved and of which the detector was seldom sure: likely a sign post, not a person. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass

import msgspec

from operators.frames.crops import widened
from operators.wire.result import MOVING
from operators.wire.schema import BoundingBox, Object, Result

REMEMBERED = 1024
"""Tracks, and places, that are kept: those seen last."""
STAYS = 0.5
"""Share of its width or height that the centre of an object at rest may stray."""
LONG_S = 20.0
"""An object that stood for less time may be waiting."""
OFTEN = 40
"""Observations that the judgement needs."""
SURE = 0.6
"""Confidence that a detector has in at least half of its looks at what it knows."""
MOST_TOLD = 20
WIDER = 0.1
"""Share of a box's size by which the suggested polygon is larger on every side."""


class StaticObject(msgspec.Struct, frozen=True):
    """An object that never moved and that the detector was seldom sure of."""

    stream: str
    labels: list[str]
    """The detector's words, the most frequent first."""
    confidence: float
    """On average."""
    seen_s: float
    """Media time for which it was tracked."""
    polygon: list[tuple[float, float]]
    """Corners of a mask that would ignore it."""


@dataclass(slots=True)
class _Stand:
    """A track, or several that followed each other at one place."""

    stream: str
    box: BoundingBox
    first_s: float
    last_s: float
    labels: Counter[str]
    total: float = 0.0
    """Sum of the confidences."""
    sure: int = 0
    """Looks at which the detector was sure."""
    moved: bool = False
    before_s: float = 0.0
    """Time of the tracks before."""

    @property
    def seen_s(self) -> float:
        return self.before_s + max(0.0, self.last_s - self.first_s)

    @property
    def looks(self) -> int:
        return self.labels.total()

    def is_at(self, box: BoundingBox) -> bool:
        """Whether a box has its centre where this one has it."""
        width, height = self.box.x_max - self.box.x_min, self.box.y_max - self.box.y_min
        across = (box.x_min + box.x_max - self.box.x_min - self.box.x_max) / 2
        down = (box.y_min + box.y_max - self.box.y_min - self.box.y_max) / 2
        return abs(across) <= STAYS * width and abs(down) <= STAYS * height


class StaticObjects:
    """Watches the tracks of all streams, in fixed memory."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._tracks: OrderedDict[tuple[str, str, int], _Stand] = OrderedDict()
        self._places: list[_Stand] = []

    def see(self, result: Result) -> None:
        """Take the objects of an analysed frame."""
        for found in result.objects:
            if found.track_id is not None and found.detection.label != MOVING:
                self._see((result.stream, result.run, found.track_id), found, result.frame.media_time_s)
        while len(self._tracks) > self._remembered:
            _, ended = self._tracks.popitem(last=False)
            self._places = _with(self._places, ended)[-self._remembered :]

    def found(self) -> list[StaticObject]:
        """Those that were seen long enough to judge, the longest seen first."""
        places = self._places
        for track in self._tracks.values():
            places = _with(places, track)
        told = [place for place in places if _is_doubtful(place)]
        return [_told(place) for place in sorted(told, key=lambda place: -place.seen_s)[:MOST_TOLD]]

    def _see(self, key: tuple[str, str, int], found: Object, at_s: float) -> None:
        detection = found.detection
        track = self._tracks.pop(key, None)
        if track is None:
            track = _Stand(key[0], detection.bounding_box, at_s, at_s, Counter())
        track.moved = track.moved or not track.is_at(detection.bounding_box)
        track.labels[detection.label] += 1
        track.total += detection.confidence
        track.sure += detection.confidence >= SURE
        track.last_s = at_s
        self._tracks[key] = track


def _with(places: list[_Stand], track: _Stand) -> list[_Stand]:
    """The places with a track that has ended: a detector that is unsure loses its object and finds it again."""
    if track.moved:
        return places
    for number, place in enumerate(places):
        if place.stream == track.stream and place.is_at(track.box):
            return [*places[:number], *places[number + 1 :], _joined(place, track)]
    return [*places, track]


def _joined(place: _Stand, track: _Stand) -> _Stand:
    return _Stand(
        place.stream,
        place.box,
        track.first_s,
        track.last_s,
        place.labels + track.labels,
        place.total + track.total,
        place.sure + track.sure,
        before_s=place.seen_s + track.before_s,
    )


def _is_doubtful(place: _Stand) -> bool:
    return place.sure * 2 < place.looks >= OFTEN and place.seen_s >= LONG_S


def _told(place: _Stand) -> StaticObject:
    wide = widened(place.box, WIDER)
    left, top, right, bottom = (round(side, 3) for side in (wide.x_min, wide.y_min, wide.x_max, wide.y_max))
    polygon = [(left, top), (right, top), (right, bottom), (left, bottom)]
    labels = [label for label, _ in place.labels.most_common()]
    return StaticObject(place.stream, labels, round(place.total / place.looks, 3), round(place.seen_s, 1), polygon)
