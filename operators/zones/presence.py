"""One object and one zone: when it has come in and when it has gone. Pure.

Its point trembles as its box does. It is inside once it was seen inside for ``settle_s`` without a break, and has left
once it was seen farther outside than a share ``margin`` of its own width and height for as long. Between the two lies a
band in which nothing changes, so an object that stands on the border comes in once.
"""

from __future__ import annotations

from dataclasses import dataclass

from operators.wire.schema import ZoneCause
from operators.zones.layout import Zone
from operators.zones.sighting import Sighting, SightingMoment

ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """The patience before an object counts as come, gone, or across."""

    settle_s: float = 0.4
    """Media time for which it must be seen there."""
    margin: float = 0.15
    """How far it must be away from the border, as a share of its width and height."""

    def settled(self, since: SightingMoment, now: SightingMoment) -> bool:
        """Whether enough time has passed."""
        return now.now_s - since.now_s >= self.settle_s - ROUNDING_S


@dataclass(frozen=True, slots=True)
class Entered:
    """An object is in a zone."""

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
        """Take the next sighting, and whether the zone ``holds`` its point."""
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
