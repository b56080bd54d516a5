"""The latest events of a stream: objects that came, were named otherwise, or left; zones and lines. Pure; bounded."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET

from operators.wire.schema import BoundingBox, Event, Object, Result
from serving.common.untrusted import printable

MOST_TRACKS = 256
MOST_EVENTS = 30
KEPT_EVENTS = 45
"""A reader may still ask for the thumbnail of one that has just left the list."""
MOST_MOMENTS = 256
"""Frames whose time of day is known."""
LONGEST = 60
"""Characters of a name."""
Kind = Literal["came", "named", "left", "enter", "leave", "cross"]
UNNAMED = ("unknown", "other")
GONE_S = 3.0
"""Media time after which an object that is not seen has left."""


@dataclass(slots=True)
class ListedEvent:
    number: int
    """Which of its stream's events it is."""
    kind: Kind
    track: int
    label: str
    media_time_s: float
    at_s: float | None
    """The time of day at which it was captured, seconds since 1970; None in messages of earlier versions."""
    run: int
    """Which of its stream's runs it is of, counted as they were first heard of."""
    place: str = ""
    """The zone or line, where it is about one; for a line with the direction."""
    thumbnail: bytes | None = None
    """A small JPEG of the object."""
    is_own: bool = False
    """Whether that was made for this event, and not for an earlier one of the same track."""


@dataclass(frozen=True, slots=True)
class _Track:
    label: str
    media_time_s: float
    at_s: float | None
    run: int


class Sightings:
    """Follows the tracks of one stream; the one seen longest ago is forgotten first."""

    def __init__(self) -> None:
        self._tracks: OrderedDict[tuple[int, int], _Track] = OrderedDict()
        """By run and number: each run counts its tracks anew."""
        self._number = self._run_number = 0
        self._runs = ("", "")
        """The latest run, and the one before."""
        self._kept: deque[ListedEvent] = deque(maxlen=KEPT_EVENTS)
        self._moments: deque[tuple[int, float, float]] = deque(maxlen=MOST_MOMENTS)
        """Run, media time and time of day of frames, seconds."""

    @property
    def latest(self) -> list[ListedEvent]:
        """The newest first, by when they happened: that a track has left is known only a while later."""
        when = sorted(self._kept, key=lambda each: (each.run, each.media_time_s, each.number), reverse=True)
        return when[:MOST_EVENTS]

    def thumbnail(self, number: int) -> bytes | None:
        """The picture of an event; None where there is none."""
        return next((each.thumbnail for each in self._kept if each.number == number), None)

    def see(self, result: Result) -> None:
        """Take an analysed frame."""
        now_s, at_s, run = result.frame.media_time_s, result.frame.captured_at.timestamp(), self._run(result.run)
        self._moments.append((run, now_s, at_s))
        for found in result.objects[:MOST_TRACKS]:
            if found.track_id is not None:
                self._see(found, found.track_id, _Track(named(found), now_s, at_s, run))
        while self._tracks:
            key, last = next(iter(self._tracks.items()))
            is_here = last.run == run and abs(now_s - last.media_time_s) <= GONE_S
            if is_here and len(self._tracks) <= MOST_TRACKS:
                break
            del self._tracks[key]
            self._happened("left", key[1], last)

    def passed(self, event: Event) -> None:
        """Take what happened at a zone or a line; other events are found in results."""
        if event.type not in ("enter", "leave", "cross"):
            return
        media_time_s = event.media_time_s if event.at_media_time_s is UNSET else event.at_media_time_s
        run, at_s = self._run(event.run), None
        if event.captured_at is not None:
            self._moments.append((run, event.media_time_s, event.captured_at.timestamp()))
            at_s = self._captured_s(run, min(media_time_s, event.media_time_s))
        when = _Track(event.label, media_time_s, at_s, run)
        self._happened(event.type, event.track_id, when, _place(event))

    def without_thumbnail(self, result: Result) -> list[tuple[ListedEvent, BoundingBox]]:
        """Events whose object is in this frame, and where; until it left, a picture of it can be had."""
        run = self._run(result.run)
        wanting = [each for each in self._kept if not each.is_own and each.kind != "left" and each.run == run]
        boxes = {found.track_id: found.detection.bounding_box for found in result.objects[:MOST_TRACKS] if wanting}
        return [(each, boxes[each.track]) for each in wanting if each.track in boxes]

    def _captured_s(self, run: int, media_time_s: float) -> float:
        """When a moment up to the latest was captured: a recording that is read fast shows many seconds in one."""
        known = [(media_s, at_s) for of, media_s, at_s in self._moments if of == run]
        after = min(each for each in known if each[0] >= media_time_s)
        before = max((each for each in known if each[0] <= media_time_s), default=None)
        if before is None:
            return max(0.0, after[1] - (after[0] - media_time_s))
        passed = (media_time_s - before[0]) / ((after[0] - before[0]) or 1.0)
        return before[1] + passed * (after[1] - before[1])

    def _run(self, name: str) -> int:
        """The number of a run: events of the one before may still come."""
        latest, before = self._runs
        if name == before != latest:
            return self._run_number - 1
        if name != latest:
            self._runs = name, latest
            self._run_number += 1
        return self._run_number

    def _see(self, found: Object, track: int, seen: _Track) -> None:
        before = self._tracks.pop((seen.run, track), None)
        self._tracks[seen.run, track] = seen
        if before is None or before.label != seen.label:
            self._happened("came" if before is None else "named", track, seen)

    def _happened(self, kind: Kind, track: int, seen: _Track, place: str = "") -> None:
        self._number += 1
        mine = (each for each in reversed(self._kept) if (each.run, each.track) == (seen.run, track))
        known = next((each.thumbnail for each in mine), None)
        label = printable(seen.label, LONGEST)
        self._kept.append(
            ListedEvent(self._number, kind, track, label, seen.media_time_s, seen.at_s, seen.run, place, known)
        )


def named(found: Object) -> str:
    """An object's name: its last answer that says something, else the detector's word."""
    for said in reversed(found.attributes):
        if said.label not in UNNAMED:
            return said.label
    return found.label


def called(found: Object) -> str:
    """The same, short enough to be shown."""
    return printable(named(found), LONGEST)


def _place(event: Event) -> str:
    name = printable(str(event.line if event.type == "cross" else event.zone), LONGEST)
    return name if event.direction is UNSET else f"{name} {event.direction.replace('_', ' ')}"
