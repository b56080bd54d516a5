"""One street in motion: draws the frame of any time and knows which pixels belong to whom."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing.mesh import Pose
from datasets.street.drawing.sprite import SOLID, Image, Sprite, darken, glow
from datasets.street.furniture import Fixture, furnish
from datasets.street.options import Options
from datasets.street.surroundings.backdrop import build_backdrop
from datasets.street.surroundings.layout import lay_out
from datasets.street.surroundings.light import LAMP_GAIN, Light, light_at
from datasets.street.traffic import Actor, traffic
from datasets.street.weather import Lens

SHUTTER_S = 0.008
LEAST_PIXELS = 12


@dataclass(frozen=True)
class Seen:
    """A moving thing in a frame: pixel ``box`` (x0, y0, x1, y1, ends exclusive) of its visible part, and its share."""

    actor: Actor
    box: tuple[int, int, int, int]
    visible: float


@dataclass(frozen=True)
class Placed:
    """An actor's picture at a moment, before light is put on it."""

    actor: Actor
    pose: Pose
    sprite: Sprite


@dataclass(frozen=True)
class Drawn:
    """Sprites ready to be laid over the frame, farthest first, and to whom their pixels belong."""

    y: float
    layers: tuple[Sprite, ...]
    owner: int


@dataclass(frozen=True)
class StageSet:
    """Everything that stands still, in one light: the ground with all fixed things painted on, and these one by one."""

    light: Light
    ground: Image
    fixtures: tuple[Fixture, ...]


class Scene:
    """The street of one set of options. Frames must be asked for in the order of time."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.layout = lay_out(options.seed, options.width, options.height, options.view)
        self.backdrop = build_backdrop(self.layout)
        self.fixtures = sorted(furnish(self.layout), key=lambda fixture: -fixture.y)
        self.lens = Lens(options, self.layout)
        self._arrivals = traffic(self.layout, options.mix, options.density)
        self._next = next(self._arrivals)
        self._present: list[Actor] = []
        self._set: StageSet | None = None

    def render(self, time_s: float) -> tuple[Image, list[Seen]]:
        """The picture at this time and the moving things that can be seen in it, strays included."""
        light = light_at(self.options.light, time_s)
        still = self._stage(light)
        frame = self.lens.clouded(still.ground.copy(), light, time_s)
        owners = np.zeros(frame.shape[:2], np.int32)
        placed = [found for actor in self._on_street(time_s) if (found := self._place(actor, time_s)) is not None]
        for item in placed:
            self._cast(frame, item, light)
        fixtures = [Drawn(one.y, one.at(time_s), 0) for one in still.fixtures if one.sways or hides(one, placed)]
        for thing in sorted([*fixtures, *(self._taken(item, light) for item in placed)], key=lambda one: -one.y):
            for layer in thing.layers:
                layer.lay_over(frame, owners, thing.owner)
        for item in placed:
            self._shine(frame, owners, item, light)
        visible = (seen_of(item, owners) for item in placed)
        return self.lens.shot(frame, light, time_s), [one for one in visible if one is not None]

    def _stage(self, light: Light) -> StageSet:
        """Kept from frame to frame while the light stays the same."""
        if self._set is None or self._set.light != light:
            ground = self.lens.hazed(self.backdrop.graded(light), light)
            lit = [
                replace(one, layers=tuple(self._lit(layer, one.x, one.y, light) for layer in one.layers))
                for one in self.fixtures
            ]
            nobody = np.zeros(ground.shape[:2], np.int32)
            for fixture in lit:
                for layer in () if fixture.sways else fixture.layers:
                    layer.lay_over(ground, nobody, 0)
            for lamp in self.layout.camera.project(np.array(self.layout.lamps).reshape(-1, 3))[0]:
                glow(
                    ground,
                    lamp[0],
                    lamp[1],
                    14 * self.options.width / 640,
                    [light.lamps * part for part in (130, 190, 230)],
                )
            self._set = StageSet(light, ground, tuple(lit))
        return self._set

    def _on_street(self, time_s: float) -> list[Actor]:
        while self._next.enter_s <= time_s:
            self._present.append(self._next)
            self._next = next(self._arrivals)
        self._present = [actor for actor in self._present if actor.leave_s > time_s]
        return [actor for actor in self._present if actor.enter_s <= time_s]

    def _place(self, actor: Actor, time_s: float) -> Placed | None:
        pose = actor.pose(time_s)
        sprite = actor.thing.draw(self.layout.camera, pose)
        return None if sprite is None else Placed(actor, pose, sprite)

    def _taken(self, item: Placed, light: Light) -> Drawn:
        """Its picture as the camera gets it: in this light, smeared while the shutter is open."""
        x, y = item.pose.x, item.pose.y
        smear = item.actor.speed_ms * SHUTTER_S * self.layout.camera.pixels_per_metre(_point(item.pose))
        return Drawn(y, (self._lit(item.sprite, x, y, light).blurred(smear),), item.actor.id)

    def _lit(self, sprite: Sprite, x: float, y: float, light: Light) -> Sprite:
        camera = self.layout.camera
        foot, _ = camera.project(np.array([[x, y, 0.0]]))
        column = int(np.clip(foot[0, 0], 0, camera.width - 1))
        row = int(np.clip(foot[0, 1], 0, camera.height - 1))
        lamp = float(self.backdrop.lamp[row, column]) * light.lamps
        gain = np.array(light.ambient) + lamp * np.array(LAMP_GAIN)
        return self.lens.seen_through_air(sprite, tuple(gain), y, light)

    def _cast(self, frame: Image, item: Placed, light: Light) -> None:
        """The shadow: on the ground along the sun, and a dark patch right below."""
        points, sun = item.actor.thing.outline(item.pose), self.layout.sun
        if not len(points):
            return
        clear = self.lens.clearness
        fallen = points.copy()
        fallen[:, :2] -= np.outer(points[:, 2], (sun[0] / sun[2], sun[1] / sun[2]))
        fallen[:, 2] = 0
        low = points[points[:, 2] == 0]
        for spots, strength, softness in (
            (fallen, light.sun * clear, 5),
            (low, (0.25 + 0.3 * light.sun) * (0.5 + 0.5 * clear), 3),
        ):
            pixels, _ = self.layout.camera.project(spots)
            darken(frame, cv2.convexHull(pixels.astype(np.float32))[:, 0].astype(float), strength, softness)

    def _shine(self, frame: Image, owners: NDArray[np.int32], item: Placed, light: Light) -> None:
        """Headlamps, tail lamps and the pool of light ahead."""
        if light.lamps < 0.3:
            return
        camera = self.layout.camera
        front, back = item.actor.thing.lamps(item.pose)
        scale = camera.pixels_per_metre(_point(item.pose))
        for points, colour, size in ((front, (190, 225, 240), 0.9), (back, (30, 20, 200), 0.4)):
            pixels, _ = camera.project(points)
            for x, y in pixels:
                if self._owned(owners, x, y, item.actor.id):
                    glow(frame, x, y, size * scale, tuple(light.lamps * channel for channel in colour))
        for point in front[:1]:
            ahead = np.array([[point[0] + item.actor.direction * 3.5, item.pose.y, 0.0]])
            pixels, _ = camera.project(ahead)
            glow(frame, pixels[0, 0], pixels[0, 1], 2.4 * scale, (20 * light.lamps, 25 * light.lamps, 28 * light.lamps))

    @staticmethod
    def _owned(owners: NDArray[np.int32], x: float, y: float, owner: int) -> bool:
        row, column = int(y), int(x)
        near = owners[max(row - 2, 0) : max(row + 3, 0), max(column - 2, 0) : max(column + 3, 0)]
        return bool((near == owner).any())


def hides(fixture: Fixture, placed: list[Placed]) -> bool:
    """Whether the fixture may lie in front of one of the moving things."""
    front = [item.sprite for item in placed if item.pose.y > fixture.y]
    return any(layer.touches(sprite) for sprite in front for layer in fixture.layers)


def _point(pose: Pose) -> NDArray[np.float64]:
    return np.array([pose.x, pose.y, 0.8])


def seen_of(item: Placed, owners: NDArray[np.int32]) -> Seen | None:
    """The part of the actor's sprite that nothing before it hides."""
    whole = int(np.count_nonzero(item.sprite.pixels[..., 3] >= SOLID))
    rows, columns, _, _ = item.sprite.clip(owners)  # type: ignore[arg-type]
    own = owners[rows, columns] == item.actor.id
    count = int(np.count_nonzero(own))
    if count < LEAST_PIXELS:
        return None
    down, across = np.flatnonzero(own.any(axis=1)), np.flatnonzero(own.any(axis=0))
    box = (
        int(columns.start + across[0]),
        int(rows.start + down[0]),
        int(columns.start + across[-1] + 1),
        int(rows.start + down[-1] + 1),
    )
    return Seen(item.actor, box, min(count / max(whole, 1), 1.0))
