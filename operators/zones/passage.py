"""One object and one line: when it has crossed, and which way. Pure.

Only places farther from the line than a share ``margin`` of the object's own width and height count. The straight way
from one such place to the next crosses the line or does not, so an object that trembles on it, or goes round its end,
has not crossed. A crossing is believed once the object is still beyond after ``settle_s``.
"""

from __future__ import annotations

from dataclasses import dataclass

from operators.frames.polygon import Point
from operators.wire.schema import Direction
from operators.zones.geometry import crossings
from operators.zones.layout import Line
from operators.zones.presence import Hysteresis
from operators.zones.sighting import Sighting, SightingMoment


@dataclass(frozen=True, slots=True)
class Crossed:
    """An object has crossed a line."""

    line: str
    at_s: float
    """Media time at which it was first seen beyond."""
    direction: Direction
    """From which hand to which hand of one who walks along the line, from its first point to its last."""


class Passage:
    """An object near a line, or on its way to it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._place: Point | None = None
        """Where it last was, away from the line."""
        self._beyond: tuple[Direction, SightingMoment] | None = None
        """A crossing that is not believed yet, and when it was first seen beyond."""

    def see(self, seen: Sighting, rules: Hysteresis) -> Crossed | None:
        """Take the next sighting."""
        point = seen.point(self.line.anchor)
        if self.line.is_close(point, seen.size, rules.margin):
            return None
        self._turn(crossings(self.line.sides, self._place or point, point), seen.moment)
        self._place = point
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
