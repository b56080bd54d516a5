"""The latest events of a stream, as the page lists them: tracks that came, were named otherwise, or left; zones and
lines. Pure; bounded.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET

from operators.wire.schema import BoundingBox, Event, Object, Result
from serving.common.untrusted import shortened

MOST_TRACKS = 256
MOST_EVENTS = 30
KEPT_EVENTS = 45
"""A reader may still ask for the thumbnail of one that has just left the list."""
LONGEST = 60
"""Characters of a name."""
Kind = Literal["came", "named", "left", "enter", "leave", "cross"]
KINDS: Mapping[str, Kind] = {
    "new": "came",
    "update": "named",
    "end": "left",
    "enter": "enter",
    "leave": "leave",
    "cross": "cross",
}
"""By the type of an event."""
UNNAMED = ("unknown", "other")


@dataclass(slots=True)
class ListedEvent:
    """An event, as the page lists it."""

    number: int
    """Which of its stream's events it is."""
    kind: Kind
    track: int
    label: str
    media_time_s: float
    at_s: float | None
    """The time of day at which it was captured, seconds since 1970; None in messages of earlier versions."""
    place: str = ""
    """The zone or line, where it is about one; for a line with the direction."""
    thumbnail: bytes | None = None
    """A small JPEG of the object."""
    is_own: bool = False
    """Whether that was made for this event, and not for an earlier one of the same track."""


class Sightings:
    """Lists the events of one stream; the labels of tracks are known of those that were heard of last."""

    def __init__(self) -> None:
        self._labels: OrderedDict[int, str] = OrderedDict()
        """By track that has not ended."""
        self._number = 0
        self._kept: deque[ListedEvent] = deque(maxlen=KEPT_EVENTS)

    @property
    def latest(self) -> list[ListedEvent]:
        """The newest first, by when they happened: that a track has left is known only a while later."""
        return sorted(self._kept, key=lambda each: (each.at_s or 0.0, each.number), reverse=True)[:MOST_EVENTS]

    def thumbnail(self, number: int) -> bytes | None:
        """The picture of an event; None where there is none."""
        return next((each.thumbnail for each in self._kept if each.number == number), None)

    def take(self, event: Event) -> None:
        """List an event, unless it is an update after which the object is called as before."""
        track, label = event.track_id, named(event)
        before = self._labels.pop(track, None)
        if event.type != "end":
            self._labels[track] = label
            if len(self._labels) > MOST_TRACKS:
                self._labels.popitem(last=False)
        if event.type == "update" and label == before:
            return
        self._number += 1
        known = next((each.thumbnail for each in reversed(self._kept) if each.track == track), None)
        kind, at_s = KINDS[event.type], _media_time_s(event)
        day_s = None if event.captured_at is None else event.captured_at.timestamp() - (event.media_time_s - at_s)
        said = shortened(label, LONGEST)
        self._kept.append(ListedEvent(self._number, kind, track, said, at_s, day_s, _place(event), known))

    def without_thumbnail(self, result: Result) -> list[tuple[ListedEvent, BoundingBox]]:
        """Events whose object is in this frame, and where; until it left, a picture of it can be had."""
        wanting = [each for each in self._kept if not each.is_own and each.kind != "left"]
        boxes = {found.track_id: found.detection.bounding_box for found in result.objects[:MOST_TRACKS] if wanting}
        return [(each, boxes[each.track]) for each in wanting if each.track in boxes]


def _media_time_s(event: Event) -> float:
    """When it happened, which is before the frame at which that was sure."""
    if event.type == "end":
        return event.last_media_time_s
    return event.media_time_s if event.at_media_time_s is UNSET else event.at_media_time_s


def named(found: Object | Event) -> str:
    """An object's name: its last answer that says something, else the detector's word."""
    for said in reversed(found.attributes):
        if said.label not in UNNAMED:
            return said.label
    return found.label


def called(found: Object) -> str:
    """The same, short enough to be shown."""
    return shortened(named(found), LONGEST)


def _place(event: Event) -> str:
    if event.line is UNSET and event.zone is UNSET:
        return ""
    name = shortened(str(event.line if event.type == "cross" else event.zone), LONGEST)
    return name if event.direction is UNSET else f"{name} {event.direction.replace('_', ' ')}"
