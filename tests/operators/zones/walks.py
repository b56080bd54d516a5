"""Objects that walk through a picture, as zones and lines see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from operators.frames.frame import Box
from operators.frames.polygon import Point
from operators.zones.geometry import Sighting, SightingMoment
from operators.zones.layout import Layout, Line, Zone
from operators.zones.presence import Hysteresis
from operators.zones.visits import Happening, Visits

WIDTH, HEIGHT = 0.1, 0.2
YARD = Zone("yard", ((0.3, 0.3), (0.7, 0.3), (0.7, 0.9), (0.3, 0.9)))
GATE = Line("gate", ((0.2, 0.5), (0.8, 0.5)))
RULES = Hysteresis()


def seen(at: Point, time_s: float, track: int = 7, label: str = "car") -> Sighting:
    """An object whose lower side has its middle here."""
    x, y = at
    return Sighting(
        track, Box(x - WIDTH / 2, y - HEIGHT, x + WIDTH / 2, y), label, SightingMoment(time_s, 100 + time_s)
    )


def way(start: Point, end: Point, frames: int) -> list[Point]:
    """Equal steps from one place to another."""
    shares = [place / max(1, frames - 1) for place in range(frames)]
    return [(start[0] + s * (end[0] - start[0]), start[1] + s * (end[1] - start[1])) for s in shares]


def trembling(places: Iterable[Point], sigma: float, rng: Random) -> Iterator[Point]:
    """The same places, each missed by a share of the object's size."""
    for x, y in places:
        yield x + rng.gauss(0, sigma * WIDTH), y + rng.gauss(0, sigma * HEIGHT)


def walk(places: Iterable[Point], shape: Zone | Line, fps: float = 10.0, rules: Hysteresis = RULES) -> list[Happening]:
    """What one object does that is seen at these places and then no more."""
    visits = Visits(Layout((shape,)) if isinstance(shape, Zone) else Layout(lines=(shape,)), rules)
    happened: list[Happening] = []
    for n, at in enumerate(places):
        visits.move()
        happened += visits.see(seen(at, n / fps))
    return happened + visits.end(7)
