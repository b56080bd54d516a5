"""Light over the day: what is multiplied, added and switched on between noon and night."""

from __future__ import annotations

import math
from dataclasses import dataclass

from datasets.street.drawing.sprite import Colour

CYCLE_S = 60.0


@dataclass(frozen=True)
class Light:
    """The light of one moment; colours are blue, green, red."""

    ambient: tuple[float, float, float]  # gain on daylight colours
    sky_top: tuple[float, float, float]
    sky_low: tuple[float, float, float]
    sun: float  # strength of cast shadows
    lamps: float  # 0 off … 1 on: street lamps, windows and headlights
    noise: float  # standard deviation of the camera's noise


LAMP_GAIN: Colour = (0.3, 0.47, 0.6)  # on daylight colours, right below a street lamp
DAY = Light((1.0, 1.0, 1.0), (226, 184, 140), (240, 230, 218), 0.42, 0.0, 1.8)
DUSK = Light((0.66, 0.56, 0.6), (150, 104, 92), (120, 164, 240), 0.12, 0.7, 2.8)
NIGHT = Light((0.25, 0.18, 0.16), (44, 26, 20), (64, 44, 40), 0.0, 1.0, 4.2)
NAMED = {"day": DAY, "dusk": DUSK, "night": NIGHT}


def light_at(name: str, time_s: float) -> Light:
    """The light of a ``day``, ``dusk`` or ``night`` scene, or of a ``cycle`` of ``CYCLE_S`` from noon to noon."""
    if name != "cycle":
        return NAMED[name]
    darkness = 1 - math.cos(2 * math.pi * time_s / CYCLE_S)  # 0 noon … 2 midnight
    darkness = round(darkness * 40) / 40  # in steps, for what is drawn in a light is kept while it lasts
    return mixed(DAY, DUSK, darkness) if darkness <= 1 else mixed(DUSK, NIGHT, darkness - 1)


def mixed(a: Light, b: Light, share: float) -> Light:
    """Between two lights."""

    def colour(one: Colour, other: Colour) -> tuple[float, float, float]:
        blue, green, red = (p * (1 - share) + q * share for p, q in zip(one, other, strict=True))
        return blue, green, red

    return Light(
        ambient=colour(a.ambient, b.ambient),
        sky_top=colour(a.sky_top, b.sky_top),
        sky_low=colour(a.sky_low, b.sky_low),
        sun=a.sun + (b.sun - a.sun) * share,
        lamps=a.lamps + (b.lamps - a.lamps) * share,
        noise=a.noise + (b.noise - a.noise) * share,
    )
