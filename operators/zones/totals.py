"""Who entered zones and who crossed lines in all, counted from events. Pure; bounded by the query."""

from __future__ import annotations

from collections import Counter, defaultdict

import msgspec

from operators.wire.labels import OTHER
from operators.wire.schema import Event

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
    """Counts events."""

    def __init__(self) -> None:
        self._crossed: defaultdict[tuple[str, str], defaultdict[str, Counter[str]]]
        self._crossed = defaultdict(lambda: defaultdict(Counter))
        self._zones: defaultdict[tuple[str, str], _Zone] = defaultdict(_Zone)

    def see(self, event: Event) -> None:
        """Take an event of any type."""
        match event:
            case Event(type="cross", line=str(line), direction=str(direction)):
                _count(self._crossed[event.stream, line][direction], event.label)
            case Event(type="enter", zone=str(zone)):
                _count(self._zones[event.stream, zone].entered, event.label)
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
    """The figures of one zone."""

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


def _count(counter: Counter[str], label: str) -> None:
    counter[label if label in counter or len(counter) < MOST_LABELS else OTHER] += 1


def _ranked(counter: Counter[str]) -> dict[str, int]:
    return dict(counter.most_common())
