"""The objects of one stream in its zones and at its lines, and how many came in all. Pure: time comes with the
sightings, totals with the events; bounded by the query.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from operators.wire.result import OTHER
from operators.wire.schema import Event
from operators.zones.geometry import Sighting, overlap
from operators.zones.layout import Layout, Line, Zone
from operators.zones.presence import Crossed, Entered, Hysteresis, Left, Passage, Presence

Happening = Entered | Left | Crossed


SAME_PLACE = 0.5
"""Intersection over union from which a new track stands where another one has stood."""


@dataclass(slots=True)
class _Visitor:
    last: Sighting | None = None
    """None before its first one."""
    frame: int = 0
    """The frame in which that was."""
    presences: dict[str, Presence] = field(default_factory=dict)
    """The zones that it is in, or about to be."""
    passages: dict[str, Passage] = field(default_factory=dict)


class Visits:
    """Follows tracks by their numbers, from the first sighting of each until it is ended.

    A detector may lose what stands still, and a tracker then takes it for another object. A new track that stands where
    one of the same label was lost goes on as that one: nobody has left, and nobody has come.
    """

    def __init__(self, layout: Layout, rules: Hysteresis) -> None:
        self._layout, self._rules = layout, rules
        self._tracks: dict[int, _Visitor] = {}
        self._frame = 0

    def __len__(self) -> int:
        return len(self._tracks)

    def move(self) -> None:
        self._frame += 1

    def see(self, seen: Sighting) -> list[Happening]:
        track = self._tracks.get(seen.track) or self._begin(seen)
        found = [self._in_zone(track, zone, seen) for zone in self._layout.zones if zone.concerns(seen.label)]
        crossed = [self._at_line(track, line, seen) for line in self._layout.lines if line.concerns(seen.label)]
        track.last, track.frame = seen, self._frame
        return [happening for happening in [*found, *crossed] if happening is not None]

    def end(self, number: int) -> list[Happening]:
        """A track has ended: it leaves its zones, and what it was last seen to cross is crossed."""
        track = self._tracks.pop(number, _Visitor())
        crossed = [passage.ended() for passage in track.passages.values()]
        left = [presence.left("ended") for presence in track.presences.values()]
        return [happening for happening in [*crossed, *left] if happening is not None]

    def inside(self) -> dict[str, list[int]]:
        """For every zone the numbers of the tracks that are in it."""
        found: dict[str, list[int]] = {zone.name: [] for zone in self._layout.zones}
        for number, track in self._tracks.items():
            for name, presence in track.presences.items():
                if presence.inside:
                    found[name].append(number)
        return found

    def _begin(self, seen: Sighting) -> _Visitor:
        """A new track, or a lost one that goes on under a new number."""
        lost = max(self._lost(seen), default=None)
        track = self._tracks[seen.track] = _Visitor() if lost is None else self._tracks.pop(lost[1])
        return track

    def _lost(self, seen: Sighting) -> Iterator[tuple[float, int]]:
        """Tracks that were not seen in the frame before, where this object stands, with their overlap.

        Those of the frame before may still be found in this one.
        """
        for number, track in self._tracks.items():
            if track.last is not None and track.frame < self._frame - 1 and track.last.label == seen.label:
                share = overlap(track.last.box, seen.box)
                if share >= SAME_PLACE:
                    yield share, number

    def _in_zone(self, track: _Visitor, zone: Zone, seen: Sighting) -> Entered | Left | None:
        holds, presence = zone.holds(seen.point(zone.anchor)), track.presences.get(zone.name)
        if presence is None:
            if not holds:
                return None
            presence = track.presences[zone.name] = Presence(zone, seen.moment, appeared=track.last is None)
        happened = presence.see(seen, holds, self._rules)
        if not (holds or presence.inside):
            del track.presences[zone.name]
        return happened

    def _at_line(self, track: _Visitor, line: Line, seen: Sighting) -> Crossed | None:
        if line.name not in track.passages:
            track.passages[line.name] = Passage(line)
        return track.passages[line.name].see(seen, self._rules)


MOST_LABELS = 100
"""Labels of a zone or line that are counted apart; further ones count as ``other``."""


class LineReport(msgspec.Struct, frozen=True):
    """Crossings of a line by label."""

    stream: str
    line: str
    left_to_right: dict[str, int]
    right_to_left: dict[str, int]


class ZoneReport(msgspec.Struct, frozen=True):
    """Objects that entered a zone."""

    stream: str
    zone: str
    entered: dict[str, int]
    """By label."""
    mean_dwell_s: float | None
    """Media time inside, of those that have left; None where none has."""
    longest_dwell_s: float | None


class EventTotals:
    def __init__(self) -> None:
        self._crossed: defaultdict[tuple[str, str], defaultdict[str, Counter[str]]]
        self._crossed = defaultdict(lambda: defaultdict(Counter))
        self._zones: defaultdict[tuple[str, str], _Zone] = defaultdict(_Zone)

    def see(self, event: Event) -> None:
        match event:
            case Event(type="cross", line=str(line), direction=str(direction)):
                count_label(self._crossed[event.stream, line][direction], event.label)
            case Event(type="enter", zone=str(zone)):
                count_label(self._zones[event.stream, zone].entered, event.label)
            case Event(type="leave", zone=str(zone), dwell_s=float(dwell_s)):
                self._zones[event.stream, zone].left(dwell_s)

    def lines(self) -> list[LineReport]:
        """Lines that were crossed, by stream and name."""
        return [
            LineReport(stream, line, _ranked(ways["left_to_right"]), _ranked(ways["right_to_left"]))
            for (stream, line), ways in sorted(self._crossed.items(), key=lambda item: item[0])
        ]

    def zones(self) -> list[ZoneReport]:
        """Zones that were entered, by stream and name."""
        return [
            ZoneReport(stream, name, _ranked(zone.entered), zone.mean_s, zone.longest_s)
            for (stream, name), zone in sorted(self._zones.items(), key=lambda item: item[0])
        ]


class _Zone:
    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()
        self._left, self._total_s = 0, 0.0
        self.longest_s: float | None = None

    def left(self, dwell_s: float) -> None:
        self._left, self._total_s = self._left + 1, self._total_s + dwell_s
        self.longest_s = max(self.longest_s or 0.0, dwell_s)

    @property
    def mean_s(self) -> float | None:
        return round(self._total_s / self._left, 3) if self._left else None


def count_label(counter: Counter[str], label: str) -> None:
    """Count one more, as ``other`` where there are too many labels."""
    counter[label if label in counter or len(counter) < MOST_LABELS else OTHER] += 1


def _ranked(counter: Counter[str]) -> dict[str, int]:
    return dict(counter.most_common())
