"""Events and counts of one stream's tracks in its zones and at its lines. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from operators.wire.bounds import LONGEST_MEDIA_S
from operators.wire.result import OTHER
from operators.wire.schema import Counts, Event, LineCounts, Object, Result
from operators.zones.geometry import Sighting, SightingMoment, has_place
from operators.zones.layout import NOTHING, Layout
from operators.zones.presence import Crossed, Entered, Hysteresis
from operators.zones.visits import MOST_LABELS, Happening, Visits, count_label


@dataclass(slots=True)
class Tracked:
    """A track that has not ended."""

    last: Object
    first_s: float
    last_s: float
    seen_at_s: float
    """When the track was last seen, by the ``MediaStopwatch``."""
    published_at_s: float
    """When its last ``new`` or ``update`` was published, by the ``MediaStopwatch``."""

    @property
    def identity(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The label and answers, whose change causes an update."""
        return self.last.label, tuple((answer.name, answer.label) for answer in self.last.attributes)


def event(kind: Any, result: Result, number: int, track: Tracked, **more: Any) -> Event:
    """An event of a track, caused by the frame of ``result``; ``more``: fields that only this kind has."""
    return Event(
        type=kind,
        stream=result.stream,
        run=result.run,
        seq=result.seq,
        track_id=number,
        label=track.last.label,
        confidence=track.last.confidence,
        media_time_s=result.frame.media_time_s,
        first_media_time_s=track.first_s,
        last_media_time_s=track.last_s,
        bounding_box=track.last.detection.bounding_box,
        attributes=track.last.attributes,
        captured_at=result.frame.captured_at,
        **more,
    )


Crossings = defaultdict[tuple[str, str], Counter[str]]
"""How often each label has crossed, by line and direction."""
LONGEST_STEP_S = 600.0
"""A step of the media time that is longer is a jump, in which no time passes."""


@dataclass(frozen=True)
class ZoneRules:
    """The zones and lines of a query, and how they are watched."""

    layout: Layout = NOTHING
    hysteresis: Hysteresis = field(default_factory=Hysteresis)
    count_every_s: float = 60.0
    """Media time after which counts are published."""


NO_ZONES = ZoneRules()


class ZoneEvents:
    """Watches the zones and lines of one stream; called for every analysed frame, in order."""

    def __init__(self, rules: ZoneRules = NO_ZONES, stream: str = "") -> None:
        self._layout = rules.layout.of(stream)
        self._every_s = rules.count_every_s
        self._visits = Visits(self._layout, rules.hysteresis)
        self._now: SightingMoment | None = None
        self._since: SightingMoment | None = None
        """When the interval began that is being counted."""
        self._crossed = Crossings(Counter)
        """Those of the interval."""

    def move(self, media_time_s: float) -> None:
        """The next frame has this media time."""
        before = self._now or SightingMoment(0.0, media_time_s)
        elapsed_s = media_time_s - before.media_time_s
        passed_s = elapsed_s if 0 <= elapsed_s <= LONGEST_STEP_S else 0.0
        self._now = SightingMoment(before.now_s + passed_s, media_time_s)
        self._since = self._since or self._now
        self._visits.move()

    def see(self, result: Result, number: int, track: Tracked) -> list[Event]:
        """A track is seen in this frame; returns what that means."""
        detection = track.last.detection
        box = detection.bounding_box
        if not self._layout or self._now is None or not has_place(box):
            return []
        happened = self._visits.see(Sighting(number, box, detection.label, self._now))
        return self._events(happened, result, number, track)

    def end(self, result: Result, number: int, track: Tracked) -> list[Event]:
        return self._events(self._visits.end(number), result, number, track)

    def count(self, result: Result, tracks: Mapping[int, Tracked]) -> list[Counts]:
        """The counts, if an interval ends with this frame."""
        now, since = self._now, self._since
        if now is None or since is None or now.now_s - since.now_s < self._every_s:
            return []
        counts = self.close(result, tracks)
        self._since = now
        return counts

    def close(self, result: Result, tracks: Mapping[int, Tracked]) -> list[Counts]:
        """The counts since the interval began, which ends now; the next one begins with the next frame."""
        since, now, crossed = self._since, self._now, self._crossed
        self._since, self._crossed = None, Crossings(Counter)
        if not self._layout or since is None or now is None:
            return []
        return [
            Counts(
                stream=result.stream,
                run=result.run,
                seq=result.seq,
                captured_at=result.frame.captured_at,
                since_media_time_s=since.media_time_s,
                media_time_s=now.media_time_s,
                zones={zone: _by_label(numbers, tracks) for zone, numbers in self._visits.inside().items()},
                lines={line.name: _of(line.name, crossed) for line in self._layout.lines},
            )
        ]

    def _events(self, happened: list[Happening], result: Result, number: int, track: Tracked) -> list[Event]:
        for each in happened:
            if isinstance(each, Crossed):
                count_label(self._crossed[each.line, each.direction], track.last.label)
        return [_event(each, result, number, track) for each in happened]


def _event(happened: Happening, result: Result, number: int, track: Tracked) -> Event:
    at_s = happened.at_s
    if isinstance(happened, Crossed):
        more = {"line": happened.line, "direction": happened.direction}
        return event("cross", result, number, track, at_media_time_s=at_s, **more)
    if isinstance(happened, Entered):
        return event("enter", result, number, track, at_media_time_s=at_s, zone=happened.zone, cause=happened.cause)
    stayed: dict[str, Any] = {"dwell_s": round(min(happened.dwell_s, LONGEST_MEDIA_S), 3), "cause": happened.cause}
    if happened.entered_as != number:
        stayed["entered_track_id"] = happened.entered_as
    return event("leave", result, number, track, at_media_time_s=at_s, zone=happened.zone, **stayed)


def _by_label(numbers: list[int], tracks: Mapping[int, Tracked]) -> dict[str, int]:
    found = Counter(tracks[number].last.label for number in numbers if number in tracks)
    named = dict(found.most_common(MOST_LABELS))
    rest = found.total() - sum(named.values())
    return {**named, OTHER: named.get(OTHER, 0) + rest} if rest else named


def _of(line: str, crossed: Crossings) -> LineCounts:
    left_to_right, right_to_left = (crossed[line, way] for way in ("left_to_right", "right_to_left"))
    return LineCounts(
        left_to_right=dict(sorted(left_to_right.items())), right_to_left=dict(sorted(right_to_left.items()))
    )
