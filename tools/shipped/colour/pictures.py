"""Pictures of vehicles whose colour is known: drawn ones on real grounds, in lights that show colour or hide it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from datasets.street.drawing.palette import varied
from datasets.street.portraits import portrait
from serving.common.tensors import Image
from specialization.kit.features import degrade, nudge
from tools.shipped.colour.lights import at_night, exposed, under_sodium, without_colour
from tools.shipped.colour.paints import COLOURS, PAINTS
from tools.shipped.samples import Named, Samples, evenly

Told = tuple[Image, str | None]
"""A picture, and its colour if that can be told."""

NIGHT, SODIUM, COLOURLESS = 0.22, 0.08, 0.07
"""Shares of the vehicles in these lights; the others are seen by day."""
AS_IS = 0.5
"""Share of the real vehicles seen by day that are shown in the light that they were seen in."""
VARIANTS = 10
"""Pictures of each real vehicle."""
SHARES = {"drawn": 0.5, "real": 0.36, "nothing": 0.06, "two-wheelers": 0.08}
"""What a batch is made of. Nothing: grounds without a vehicle."""


@dataclass(frozen=True, slots=True)
class Real:
    """Pieces of what street cameras show."""

    named: Sequence[Named]
    """Vehicles with their colour, as a person reads it."""
    grounds: Sequence[Image]
    """Bits of street."""
    two_wheelers: Sequence[Image]


def samples(count: int, real: Real, rng: Generator) -> Samples:
    """``count`` drawn vehicles, real ones, and what has no colour that can be told: there all shall be as likely."""
    drawn = [_drawn(COLOURS[i % len(COLOURS)], real.grounds, rng) for i in range(count)]
    shown = [_lit(image, name, AS_IS, rng) for image, name in real.named for _ in range(VARIANTS)]
    nothing = [(exposed(_ground(real.grounds, (96, 72), rng), rng), None) for _ in range(count // 10)]
    riders = [(image, None) for image in real.two_wheelers]
    parts: Sequence[Sequence[Told]] = drawn, shown, nothing, riders
    return Samples.joined([(_samples(part), share) for part, share in zip(parts, SHARES.values(), strict=True)])


def seen(image: Image, rng: Generator) -> Image:
    """Another look at a picture: cut, mirrored, smaller, blurred, sharpened, compressed."""
    image = nudge(image, rng)
    if rng.random() < 0.3:
        soft = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.8, 2.0))
        image = cv2.addWeighted(image, 2.0, soft, -1.0, 0)
    return degrade(image, rng)


def _samples(told: Sequence[Told]) -> Samples:
    """All colours equally often; where none can be told, each is as likely as the others."""
    targets = np.full((len(told), len(COLOURS)), 1 / len(COLOURS), np.float32)
    for row, (_, colour) in zip(targets, told, strict=True):
        if colour is not None:
            row[:] = np.arange(len(COLOURS)) == COLOURS.index(colour)
    return Samples([image for image, _ in told], targets, _chances(targets))


def _chances(targets: NDArray[np.float32]) -> NDArray[np.float64]:
    """Those without a colour keep their share; the others are drawn so that each colour comes as often."""
    told = targets.max(axis=1) > 0.5
    chances = np.full(len(targets), 1 / len(targets))
    if told.any():
        chances[told] = evenly(targets[told]) * told.mean()
    return chances


def _drawn(colour: str, grounds: Sequence[Image], rng: Generator) -> Told:
    """A vehicle in one of the colour's paints."""
    paints = PAINTS[colour]
    return _lit(
        _laid(portrait(rng, varied(rng, paints[int(rng.integers(len(paints)))])), grounds, rng), colour, 0.0, rng
    )


def _lit(image: Image, colour: str, as_is: float, rng: Generator) -> Told:
    """In some light, and the colour that can be told in it; ``as_is``: share of the days that change nothing."""
    draw = rng.random()
    if draw < SODIUM:
        return under_sodium(image, rng), None
    if draw < SODIUM + COLOURLESS:
        return without_colour(image, rng), None
    if draw < SODIUM + COLOURLESS + NIGHT:
        return at_night(image, rng), colour
    return (image if rng.random() < as_is else exposed(image, rng)), colour


def _laid(vehicle: Image, grounds: Sequence[Image], rng: Generator) -> Image:
    """The vehicle on a ground, shadow below, as a box holds it that sits loosely or cuts it."""
    height, width = vehicle.shape[:2]
    left, top, right, bottom = (int(length * rng.uniform(-0.08, 0.2)) for length in (width, height, width, height))
    canvas = _ground(grounds, (width + max(left, 0) + max(right, 0), height + max(top, 0) + max(bottom, 0)), rng)
    x, y = max(left, 0), max(top, 0)
    cover = vehicle[..., 3:].astype(np.float32) / 255
    shade = cv2.GaussianBlur(np.roll(cover, int(0.06 * height), axis=0), (0, 0), 3)[..., None]
    place = canvas[y : y + height, x : x + width]
    shaded = place * (1 - rng.uniform(0.2, 0.7) * shade)
    body = _gleaming(vehicle, rng)
    canvas[y : y + height, x : x + width] = np.clip(shaded * (1 - cover) + body, 0, 255).astype(np.uint8)
    if rng.random() < 0.2:
        _cover(canvas, grounds, rng)
    rows = slice(max(-top, 0), len(canvas) - max(-bottom, 0))
    return np.ascontiguousarray(canvas[rows, max(-left, 0) : canvas.shape[1] - max(-right, 0)])


def _gleaming(vehicle: Image, rng: Generator) -> NDArray[np.float32]:
    """Its colours, uneven as of curved metal, with reflections of what is light around it."""
    height, width = vehicle.shape[:2]
    uneven, light = (
        cv2.resize(rng.normal(size=(5, 7)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
        for _ in range(2)
    )
    colours = vehicle[..., :3] * (1 + rng.uniform(0.03, 0.2) * uneven[..., None])
    mirrored = np.clip(light[..., None] - 1, 0, 1) * rng.uniform(0, 0.7) * (vehicle[..., 3:] / 255)
    gleaming: NDArray[np.float32] = np.clip(colours * (1 - mirrored) + 235 * mirrored, 0, 255)
    return gleaming


def _ground(grounds: Sequence[Image], size: tuple[int, int], rng: Generator) -> Image:
    """A piece of street, stretched and often blurred."""
    piece = grounds[int(rng.integers(len(grounds)))]
    ground: Image = cv2.resize(piece, size, interpolation=cv2.INTER_LINEAR)
    return cv2.GaussianBlur(ground, (0, 0), rng.uniform(1, 4)) if rng.random() < 0.6 else ground


def _cover(canvas: Image, grounds: Sequence[Image], rng: Generator) -> None:
    """Something stands in front of a side or of the foot."""
    height, width = canvas.shape[:2]
    wide, high = int(width * rng.uniform(0.15, 0.45)), int(height * rng.uniform(0.2, 0.6))
    left = int(rng.choice((0, width - wide)))
    canvas[height - high :, left : left + wide] = _ground(grounds, (wide, high), rng)
