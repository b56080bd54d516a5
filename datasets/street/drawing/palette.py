"""Colours (blue, green, red 0…255) and small random choices that the drawing files share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from datasets.street.drawing.sprite import Colour

T = TypeVar("T")

PAINTS: tuple[tuple[Colour, float], ...] = (
    ((236, 236, 234), 5.0),  # white
    ((186, 186, 182), 3.0),  # silver
    ((118, 116, 112), 3.0),  # grey, close to asphalt
    ((52, 50, 50), 3.0),  # black
    ((132, 76, 40), 2.0),  # blue
    ((96, 52, 28), 1.5),  # navy
    ((42, 38, 168), 2.0),  # red
    ((38, 30, 104), 1.0),  # burgundy
    ((62, 96, 52), 1.0),  # green
    ((120, 150, 168), 1.0),  # beige
    ((44, 160, 214), 0.7),  # yellow
    ((40, 110, 214), 0.7),  # orange
    ((156, 140, 70), 0.6),  # teal
)
CLOTHES: tuple[tuple[Colour, float], ...] = (
    ((228, 228, 226), 2.5),  # white
    ((160, 158, 154), 1.0),  # light grey
    ((112, 110, 108), 0.8),  # grey, close to asphalt
    ((46, 44, 44), 3.0),  # black
    ((150, 84, 40), 2.5),  # blue
    ((96, 52, 28), 2.0),  # navy
    ((92, 62, 44), 2.5),  # denim
    ((42, 38, 172), 2.5),  # red
    ((52, 34, 110), 1.0),  # burgundy
    ((58, 104, 46), 1.5),  # green
    ((112, 150, 178), 1.2),  # beige
    ((104, 118, 112), 0.8),  # khaki
    ((44, 160, 214), 1.2),  # yellow
    ((40, 110, 214), 1.2),  # orange
    ((156, 140, 70), 1.0),  # teal
    ((150, 100, 200), 1.3),  # pink
    ((140, 80, 100), 1.2),  # violet
    ((60, 86, 124), 1.2),  # brown
)
SKINS: tuple[Colour, ...] = ((176, 196, 232), (140, 168, 212), (104, 136, 190), (70, 98, 148), (46, 62, 98))
HAIRS: tuple[Colour, ...] = (
    (28, 26, 30),
    (36, 52, 80),
    (70, 110, 150),
    (120, 170, 200),
    (170, 170, 172),
    (40, 50, 120),
)


def pick(rng: np.random.Generator, options: Sequence[T], weights: Sequence[float] | None = None) -> T:
    """One of the options."""
    if weights is None:
        return options[int(rng.integers(len(options)))]
    total = np.cumsum(np.asarray(weights, float))
    return options[int(np.searchsorted(total, rng.random() * total[-1], side="right"))]


def weighted(rng: np.random.Generator, options: Sequence[tuple[T, float]]) -> T:
    """One of the options, each given with its weight."""
    return pick(rng, [option for option, _ in options], [weight for _, weight in options])


def varied(rng: np.random.Generator, colour: Colour, spread: float = 14.0) -> tuple[float, float, float]:
    """A colour near this one."""
    shift = rng.normal(0, spread * 0.7) + rng.normal(0, spread * 0.2, 3)
    blue, green, red = np.clip(np.asarray(colour, float) + shift, 8, 248)
    return float(blue), float(green), float(red)


def scaled(colour: Colour, gain: float) -> tuple[float, float, float]:
    """The colour, lighter (gain over 1) or darker."""
    blue, green, red = (min(channel * gain, 255.0) for channel in colour)
    return blue, green, red


def chance(rng: np.random.Generator, probability: float) -> bool:
    """True with this probability."""
    return bool(rng.random() < probability)


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between the two."""
    return float(rng.uniform(low, high))
