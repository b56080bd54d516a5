"""The latest events of a stream: objects that came, were named otherwise, or left; zones and lines. Pure; bounded."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET

from operators.wire.schema import Event, Object, Result
from serving.common.printable import shortened

MOST_TRACKS = 256
MOST_EVENTS = 30
LONGEST = 60
"""Characters of a name."""
Kind = Literal["came", "named", "left", "enter", "leave", "cross"]
UNNAMED = ("unknown", "other")
GONE_S = 3.0
"""Media time after which an object that is not seen has left."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """An event, as the page lists it."""

    kind: Kind
    track: int
    label: str
    media_time_s: float
    place: str = ""
    """The zone or line, where it is about one; for a line with the direction."""


class Sightings:
    """Follows the tracks of one stream; the one seen longest ago is forgotten first."""

    def __init__(self) -> None:
        self._tracks: OrderedDict[int, tuple[str, float]] = OrderedDict()
        self.latest: deque[Sighting] = deque(maxlen=MOST_EVENTS)
        """The newest first."""

    def see(self, result: Result) -> None:
        """Take an analysed frame."""
        now_s = result.frame.media_time_s
        for found in result.objects[:MOST_TRACKS]:
            if found.track_id is not None:
                self._see(found, found.track_id, now_s)
        while self._tracks:
            track, (label, seen_s) = next(iter(self._tracks.items()))
            if abs(now_s - seen_s) <= GONE_S and len(self._tracks) <= MOST_TRACKS:
                break
            del self._tracks[track]
            self.latest.appendleft(Sighting("left", track, shortened(label, LONGEST), seen_s))

    def passed(self, event: Event) -> None:
        """Take what happened at a zone or a line; other events are found in results."""
        if event.type not in ("enter", "leave", "cross"):
            return
        at_s = event.media_time_s if event.at_media_time_s is UNSET else event.at_media_time_s
        label = shortened(event.label, LONGEST)
        self.latest.appendleft(Sighting(event.type, event.track_id, label, at_s, _place(event)))

    def _see(self, found: Object, track: int, now_s: float) -> None:
        before = self._tracks.get(track)
        label = named(found)
        if before is not None:
            self._tracks.move_to_end(track)
        self._tracks[track] = label, now_s
        if before is None or before[0] != label:
            kind: Kind = "came" if before is None else "named"
            self.latest.appendleft(Sighting(kind, track, shortened(label, LONGEST), now_s))


def named(found: Object) -> str:
    """What an object is called: its last answer that says something, else the detector's word."""
    for said in reversed(found.attributes):
        if said.label not in UNNAMED:
            return said.label
    return found.label


def called(found: Object) -> str:
    """The same, short enough to be shown."""
    return shortened(named(found), LONGEST)


def _place(event: Event) -> str:
    name = shortened(str(event.line if event.type == "cross" else event.zone), LONGEST)
    return name if event.direction is UNSET else f"{name} {event.direction.replace('_', ' ')}"
