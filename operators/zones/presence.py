"""One object and one zone or line: when it has come in, gone, or crossed. Pure.

Its point trembles as its box does. It is inside a zone once it was seen inside for ``settle_s`` without a break, and
has left once it was seen farther outside than a share ``margin`` of its own width and height for as long. Between the
two lies a band in which nothing changes, so an object that stands on the border comes in once.

At a line only places farther from it than such a share count. The straight way from one such place to the next crosses
the line or does not, so an object that trembles on it, or goes round its end, has not crossed. A crossing is believed
once the object was seen at such places beyond for ``settle_s`` without a break.
"""

from __future__ import annotations

from dataclasses import dataclass

from operators.frames.polygon import Point
from operators.wire.schema import Direction, ZoneCause
from operators.zones.geometry import Sighting, SightingMoment, crossings
from operators.zones.layout import Line, Zone

ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """The patience before an object counts as come, gone, or across."""

    settle_s: float = 0.4
    """Media time for which it must be seen there."""
    margin: float = 0.15
    """How far it must be away from the border, as a share of its width and height."""

    def settled(self, since: SightingMoment, now: SightingMoment) -> bool:
        return now.now_s - since.now_s >= self.settle_s - ROUNDING_S


@dataclass(frozen=True, slots=True)
class Entered:
    zone: str
    at_s: float
    """Media time at which it was first seen there."""
    cause: ZoneCause


@dataclass(frozen=True, slots=True)
class Left:
    """An object is in a zone no more."""

    zone: str
    at_s: float
    """Media time at which it was last seen there."""
    dwell_s: float
    """Media time from the first to the last moment inside."""
    cause: ZoneCause
    entered_as: int
    """The number of the track when it entered."""


class Presence:
    """An object that is in a zone, or about to be."""

    def __init__(self, zone: Zone, since: SightingMoment, appeared: bool) -> None:
        """``since``: when it was first seen inside; ``appeared``: that was its first sighting at all."""
        self.zone = zone
        self._since = self._last = since
        self._appeared = appeared
        self._outside: SightingMoment | None = None
        self._entered_as = 0
        self.inside = False
        """Whether it was believed to be inside."""

    def see(self, seen: Sighting, holds: bool, rules: Hysteresis) -> Entered | Left | None:
        if holds:
            self._last, self._outside = seen.moment, None
            return self._seen_inside(seen, rules)
        if not self.inside or self.zone.is_close(seen.point(self.zone.anchor), seen.size, rules.margin):
            self._outside = None
            return None
        self._outside = self._outside or seen.moment
        return self.left("crossed") if rules.settled(self._outside, seen.moment) else None

    def left(self, cause: ZoneCause) -> Left | None:
        """Its end; None where it was never believed to be inside."""
        if not self.inside:
            return None
        self.inside = False
        dwell_s = self._last.now_s - self._since.now_s
        return Left(self.zone.name, self._last.media_time_s, dwell_s, cause, self._entered_as)

    def _seen_inside(self, seen: Sighting, rules: Hysteresis) -> Entered | None:
        if self.inside or not rules.settled(self._since, seen.moment):
            return None
        self.inside, self._entered_as = True, seen.track
        return Entered(self.zone.name, self._since.media_time_s, "appeared" if self._appeared else "crossed")


@dataclass(frozen=True, slots=True)
class Crossed:
    line: str
    at_s: float
    """Media time since which it was seen beyond, away from the line."""
    direction: Direction
    """From which hand to which hand of one who walks along the line, from its first point to its last."""


class Passage:
    """An object near a line, or on its way to it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._place: Point | None = None
        """Where it last was, away from the line."""
        self._beyond: tuple[Direction, SightingMoment] | None = None
        """A crossing that is not believed yet, and since when it is seen beyond and away from the line."""
        self._near = False
        """Whether it was seen near the line last."""

    def see(self, seen: Sighting, rules: Hysteresis) -> Crossed | None:
        """Take where it is seen next; returns the crossing that is believed now."""
        point = seen.point(self.line.anchor)
        before, self._near = self._near, self.line.is_close(point, seen.size, rules.margin)
        if self._near:
            return None
        self._turn(crossings(self.line.sides, self._place or point, point), seen.moment)
        self._place = point
        if before and self._beyond is not None:
            self._beyond = self._beyond[0], seen.moment
        if self._beyond is None or not rules.settled(self._beyond[1], seen.moment):
            return None
        return self.ended()

    def ended(self) -> Crossed | None:
        """The crossing that the object was last seen to make: it has not come back."""
        if self._beyond is None:
            return None
        (direction, since), self._beyond = self._beyond, None
        return Crossed(self.line.name, since.media_time_s, direction)

    def _turn(self, crossed: int, moment: SightingMoment) -> None:
        if crossed == 0:
            return
        direction: Direction = "left_to_right" if crossed > 0 else "right_to_left"
        if self._beyond is None:
            self._beyond = direction, moment
        elif self._beyond[0] != direction:
            self._beyond = None  # it came back
