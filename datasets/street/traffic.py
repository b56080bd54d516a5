"""Traffic: an endless, seeded sequence of actors, each a function of time alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from datasets.street.actors import bikes, cars, lorries, people, pickups, strays, vans
from datasets.street.drawing.mesh import Mesh, Pose
from datasets.street.drawing.palette import between, chance, pick
from datasets.street.drawing.things import Figure, Solid, Thing
from datasets.street.surroundings.layout import Lane, Layout

Rng = np.random.Generator
VEHICLES = ("bike", "car", "juggernaut", "minibus", "pickup", "truck")
OTHER = "other"
LABELS = (*VEHICLES, "person", OTHER)
TYPES: Mapping[str, tuple[str, ...]] = {
    "bike": ("motorcycle", "bicycle"),
    "juggernaut": ("truck",),
    "minibus": ("van",),
}
"""What recognisers of vehicle types call those that have another word here."""
DEFAULT_MIX: Mapping[str, float] = {
    "car": 5.0, "bike": 2.5, "minibus": 1.8, "pickup": 1.8, "truck": 1.8, "juggernaut": 1.3, "person": 4.0, OTHER: 0.8,
}  # fmt: skip
ARRIVALS_PER_S = 0.65
WARM_UP_S = 40.0  # so that the street is populated from the first frame on
LONGEST_WAIT_S = 6.0
SLOW_DOWN = 0.75  # the least share of its own pace that a vehicle keeps behind another

_MESHES: Mapping[str, Callable[[Rng], Mesh]] = {
    "car": cars.car,
    "minibus": vans.minibus,
    "pickup": pickups.pickup,
    "truck": lorries.truck,
    "juggernaut": lorries.juggernaut,
}


@dataclass(frozen=True)
class Actor:
    """One thing on its way along the street; enters at ``enter_s`` and is gone at ``leave_s``."""

    id: int
    label: str
    thing: Thing
    y: float
    direction: int
    speed_ms: float
    enter_s: float
    enter_x: float
    leave_s: float
    weave_m: float = 0.0

    def pose(self, time_s: float) -> Pose:
        """Where it is at this time."""
        gone = self.speed_ms * (time_s - self.enter_s)
        y = self.y + self.weave_m * np.sin(gone * 0.35 + self.id)
        return Pose(self.enter_x + self.direction * gone, y, 0.0 if self.direction > 0 else np.pi, gone)


def traffic(layout: Layout, mix: Mapping[str, float], density: float) -> Iterator[Actor]:
    """All actors in the order of their arrival, from ``WARM_UP_S`` before the start, without end."""
    rng = np.random.default_rng([layout.seed, 3])
    labels, weights = list(mix), list(mix.values())
    last: dict[int, Actor] = {}
    time_s, number = -WARM_UP_S, 0
    while True:
        time_s += float(rng.exponential(1 / (ARRIVALS_PER_S * density)))
        number += 1
        own = np.random.default_rng([layout.seed, 4, number])
        label = pick(own, labels, weights)
        index, lane = choose_lane(own, layout, label)
        actor = send(own, layout, number, label, lane, time_s)
        if index is not None:
            if index in last:
                actor = behind(actor, last[index])
            if actor.enter_s - time_s > LONGEST_WAIT_S:
                continue
            last[index] = actor
        yield actor


def choose_lane(rng: Rng, layout: Layout, label: str) -> tuple[int | None, Lane]:
    """A road lane with its number for vehicles; a line of its own on a pavement, or anywhere, for the rest."""
    if label in VEHICLES:
        index = int(rng.integers(len(layout.lanes)))
        return index, layout.lanes[index]
    near, far = (layout.near[0], layout.near[1] - 0.6), (layout.far[0] + 0.8, layout.far[1] - 0.4)
    y = between(rng, *(near if chance(rng, 0.5) else far))
    if label == OTHER and chance(rng, 0.4):
        y = between(rng, layout.near[0], layout.far[1])
    return None, Lane(y, 1 if chance(rng, 0.5) else -1, between(rng, 0.9, 1.7))


def send(rng: Rng, layout: Layout, number: int, label: str, lane: Lane, time_s: float) -> Actor:
    """A new actor at the edge of the picture."""
    heading = 0.0 if lane.direction > 0 else np.pi
    thing, speed = make(rng, layout, label, lane.speed_ms, heading)
    low, high = layout.camera.span_m(lane.y + 1.5)
    margin = thing.length_m / 2 + 2.0
    way = high - low + 2 * margin
    return Actor(
        id=number,
        label=label,
        thing=thing,
        y=lane.y + (between(rng, -0.9, 0.9) if label == "bike" else between(rng, -0.25, 0.25)),
        direction=lane.direction,
        speed_ms=speed,
        enter_s=time_s,
        enter_x=low - margin if lane.direction > 0 else high + margin,
        leave_s=time_s + way / speed,
        weave_m=0.12 if label in ("person", OTHER) else 0.05,
    )


def make(rng: Rng, layout: Layout, label: str, speed: float, heading: float) -> tuple[Thing, float]:
    """A new thing of this class and its speed (m/s)."""
    if label in _MESHES:
        return Solid(_MESHES[label](rng).shaded(shading(layout), heading)), speed * between(rng, 0.8, 1.15)
    if label == "bike":
        what = bikes.bike(rng)
        lamp = None if what.kind == "bicycle" else 0.85
        pace = between(rng, 3.5, 6.0) if what.kind == "bicycle" else speed * between(rng, 0.8, 1.2)
        return Figure(lambda way, left: bikes.riding(what, way, left), what.base_m + 0.7, 1.6, lamp), pace
    if label == "person":
        who = people.person(rng)
        return Figure(lambda way, left: people.walking(who, way, left), 0.5, who.height_m), speed
    kind, thing = strays.stray(rng)
    return thing, {"dog": between(rng, 1.0, 2.6), "bird": between(rng, 4, 8)}.get(kind, between(rng, 1.5, 4.0))


def shading(layout: Layout) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """How bright a face with this normal (N×3, world) is in the layout's sun and sky."""
    sun = np.array(layout.sun)

    def light(normals: NDArray[np.float64]) -> NDArray[np.float64]:
        gain: NDArray[np.float64] = 0.68 + 0.4 * np.clip(normals @ sun, 0, 1) + 0.1 * normals[:, 2]
        return gain

    return light


def behind(actor: Actor, leader: Actor) -> Actor:
    """The actor sent later, and a little slower, so that it never runs into the one before it in its lane."""
    clear_m = (actor.thing.length_m + leader.thing.length_m) / 2 + 3.0
    way = actor.speed_ms * (actor.leave_s - actor.enter_s)
    room = max(way - 2 * clear_m, 1.0)  # what it may go before the leader is out of the picture
    slowest = actor.speed_ms * SLOW_DOWN
    enter = max(
        actor.enter_s,
        leader.enter_s + (clear_m + abs(actor.enter_x - leader.enter_x)) / leader.speed_ms,
        leader.leave_s - room / slowest,
    )
    left_s = max(leader.leave_s - enter, 1e-6)
    speed = min(actor.speed_ms, max(room / left_s, slowest))
    return replace(actor, enter_s=enter, speed_ms=speed, leave_s=enter + way / speed)
