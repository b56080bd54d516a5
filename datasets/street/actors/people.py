"""Pedestrians: how one is dressed (``Person``, drawn once from a generator) and where its limbs are at a moment."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from datasets.street.drawing.figure import Ball, Blob, limb
from datasets.street.drawing.palette import CLOTHES, HAIRS, SKINS, between, chance, pick, scaled, varied, weighted
from datasets.street.drawing.sprite import Colour

Rng = np.random.Generator


@dataclass(frozen=True)
class Person:
    """Body and clothes of one pedestrian; lengths in metres, colours blue-green-red."""

    height_m: float
    girth: float
    skin: Colour
    hair: Colour
    top: Colour
    legs: Colour
    shoes: Colour
    garment: str  # trousers | shorts | skirt | coat
    sleeves: bool
    hat: Colour | None
    long_hair: bool
    carries: str  # nothing | backpack | handbag | umbrella | box
    extra: Colour
    stride: float
    phase: float


def person(rng: Rng) -> Person:
    """A new pedestrian, child or adult."""
    child = chance(rng, 0.12)
    height = between(rng, 1.1, 1.45) if child else between(rng, 1.52, 1.93)
    return Person(
        height_m=height,
        girth=between(rng, 0.85, 1.3),
        skin=varied(rng, pick(rng, SKINS), 8),
        hair=varied(rng, pick(rng, HAIRS), 8),
        top=varied(rng, weighted(rng, CLOTHES)),
        legs=varied(rng, weighted(rng, CLOTHES)),
        shoes=varied(rng, pick(rng, ((40, 40, 40), (60, 80, 110), (225, 225, 225)))),
        garment=weighted(rng, (("trousers", 5.0), ("shorts", 1.2), ("skirt", 1.5), ("coat", 2.0))),
        sleeves=chance(rng, 0.7),
        hat=varied(rng, weighted(rng, CLOTHES)) if chance(rng, 0.25) else None,
        long_hair=chance(rng, 0.35),
        carries=weighted(rng, (("nothing", 5.0), ("backpack", 2.0), ("handbag", 2.0), ("umbrella", 1.2), ("box", 0.6))),
        extra=varied(rng, weighted(rng, CLOTHES)),
        stride=between(rng, 0.85, 1.15),
        phase=between(rng, 0, 2 * math.pi),
    )


def walking(who: Person, walked_m: float, seen_from_left: bool) -> list[Blob]:
    """The blobs of the person after this way, in painting order for a viewer on its left or right."""
    size = who.height_m
    phase = who.phase + walked_m / (0.42 * size * who.stride) * math.pi
    bob = 0.012 * size * math.cos(2 * phase)
    hip, neck = 0.52 * size + bob, 0.83 * size + bob
    near = 1.0 if seen_from_left else -1.0
    blobs = [*arm(who, phase, -near, neck), *leg(who, phase, -near, hip), *leg(who, phase, near, hip)]
    if who.carries == "backpack":
        blobs.append(
            limb(
                who.extra,
                (0.085 * size, 0.075 * size),
                (-0.12 * size, 0, neck - 0.08 * size),
                (-0.12 * size, 0, hip + 0.08 * size),
            )
        )
    blobs += trunk(who, phase, hip, neck)
    blobs += head(who, neck)
    blobs += arm(who, phase, near, neck)
    return blobs + luggage(who, phase, near, hip, neck)


def leg(who: Person, phase: float, side: float, hip: float) -> list[Blob]:
    """Thigh, shin and shoe of one leg; the two legs are half a step apart."""
    size, swing = who.height_m, phase if side > 0 else phase + math.pi
    thigh, bend = 0.42 * math.sin(swing), 0.12 + 0.75 * max(0.0, math.cos(swing)) ** 2
    y = side * 0.05 * size
    knee = (0.25 * size * math.sin(thigh), y, hip - 0.25 * size * math.cos(thigh))
    ankle = (knee[0] + 0.24 * size * math.sin(thigh - bend), y, knee[2] - 0.24 * size * math.cos(thigh - bend))
    ankle = (ankle[0], y, max(ankle[2], 0.03 * size))
    toe = (ankle[0] + 0.1 * size, y, max(ankle[2] - 0.015 * size, 0.02 * size))
    shade = who.legs if side > 0 else scaled(who.legs, 0.86)
    shin = who.skin if who.garment in ("shorts", "skirt") else shade
    thick = who.girth * size
    return [
        limb(shin, (0.038 * thick, 0.028 * thick), knee, ankle),
        limb(who.shoes, (0.026 * size, 0.02 * size), ankle, toe),
        limb(shade, (0.06 * thick, 0.042 * thick), (0, y * 0.9, hip), knee),
    ]


def arm(who: Person, phase: float, side: float, neck: float) -> list[Blob]:
    """Upper arm, forearm and hand of one arm, which swings against the leg of its side."""
    size, swing = who.height_m, phase + math.pi if side > 0 else phase
    upper = 0.45 * math.sin(swing)
    fore = upper + 0.35
    if who.carries == "box" or (who.carries == "umbrella" and side > 0):
        upper, fore = 0.2, 1.9
    shoulder = (0.0, side * 0.11 * size * who.girth, neck - 0.03 * size)
    elbow = (0.17 * size * math.sin(upper), shoulder[1] * 1.15, shoulder[2] - 0.17 * size * math.cos(upper))
    hand = (elbow[0] + 0.16 * size * math.sin(fore), elbow[1], elbow[2] - 0.16 * size * math.cos(fore))
    cloth = scaled(who.top, 0.9)
    return [
        limb(cloth if who.sleeves else who.skin, (0.03 * size, 0.024 * size), elbow, hand),
        Blob(who.skin, ((*hand, 0.028 * size),)),
        limb(cloth, (0.042 * size, 0.034 * size), shoulder, elbow),
    ]


def trunk(who: Person, phase: float, hip: float, neck: float) -> list[Blob]:
    """Torso with what hangs below it: a skirt or the skirts of a coat."""
    size, wide = who.height_m, who.height_m * who.girth
    parts: list[Blob] = []
    if who.garment in ("skirt", "coat"):
        sway = 0.03 * size * math.sin(phase)
        hem = hip - (0.2 if who.garment == "skirt" else 0.24) * size
        colour = who.legs if who.garment == "skirt" else who.top
        spread: tuple[Ball, ...] = tuple(
            (sway + dx * size, dy * wide, hem, 0.035 * size) for dx in (-0.09, 0.09) for dy in (-0.07, 0.07)
        )
        parts.append(
            Blob(
                colour,
                (
                    *spread,
                    (0, 0.04 * wide, hip + 0.06 * size, 0.07 * wide),
                    (0, -0.04 * wide, hip + 0.06 * size, 0.07 * wide),
                ),
            )
        )
    chest: tuple[Ball, ...] = tuple((0.01 * size, dy * wide, neck - 0.06 * size, 0.062 * wide) for dy in (-0.06, 0.06))
    waist: tuple[Ball, ...] = tuple((0.0, dy * wide, hip + 0.03 * size, 0.06 * wide) for dy in (-0.035, 0.035))
    parts.append(Blob(who.top, chest + waist))
    return parts


def head(who: Person, neck: float) -> list[Blob]:
    """Neck, head, hair and hat."""
    size = who.height_m
    z = neck + 0.095 * size
    parts = [limb(who.skin, (0.03 * size, 0.03 * size), (0.01 * size, 0, neck - 0.01 * size), (0.015 * size, 0, z))]
    if who.long_hair:
        parts.append(
            limb(who.hair, (0.062 * size, 0.05 * size), (-0.02 * size, 0, z), (-0.04 * size, 0, neck - 0.05 * size))
        )
    parts += [
        Blob(who.hair, ((-0.012 * size, 0, z + 0.014 * size, 0.066 * size),)),
        limb(who.skin, (0.052 * size, 0.045 * size), (0.022 * size, 0, z), (0.02 * size, 0, z - 0.03 * size)),
    ]
    if who.hat is not None:
        top = z + 0.04 * size
        parts.append(
            Blob(
                who.hat,
                (
                    (-0.01 * size, 0, top, 0.06 * size),
                    (0.07 * size, 0, top - 0.01 * size, 0.015 * size),
                    (-0.06 * size, 0, top - 0.015 * size, 0.015 * size),
                ),
            )
        )
    return parts


def luggage(who: Person, phase: float, near: float, hip: float, neck: float) -> list[Blob]:
    """Handbag, umbrella or a box held before the chest."""
    size = who.height_m
    if who.carries == "handbag":
        y, swing = near * 0.16 * size, 0.05 * size * math.sin(phase)
        corners: tuple[Ball, ...] = tuple(
            (swing + dx * size, y, hip + dz * size, 0.02 * size) for dx in (-0.08, 0.08) for dz in (-0.08, 0.04)
        )
        return [Blob(who.extra, corners)]
    if who.carries == "box":
        box: tuple[Ball, ...] = tuple(
            (dx * size, dy * size, neck + dz * size, 0.01)
            for dx in (0.12, 0.3)
            for dy in (-0.12, 0.12)
            for dz in (-0.28, -0.1)
        )
        return [Blob((110, 150, 180), box)]
    if who.carries == "umbrella":
        hand = (0.16 * size, 0.12 * size, neck - 0.05 * size)
        top = neck + 0.45 * size
        rim: tuple[Ball, ...] = tuple(
            (0.14 * size + 0.55 * math.cos(a), 0.1 * size + 0.55 * math.sin(a), top - 0.2, 0.01)
            for a in np.linspace(0, 2 * math.pi, 9)
        )
        dome: tuple[Ball, ...] = tuple(
            (0.14 * size + 0.3 * math.cos(a), 0.1 * size + 0.3 * math.sin(a), top - 0.05, 0.01)
            for a in np.linspace(0, 2 * math.pi, 7)
        )
        stick = limb((60, 60, 60), (0.012, 0.012), hand, (0.14 * size, 0.1 * size, top))
        shaded = Blob(scaled(who.extra, 0.7), rim)
        return [stick, shaded, Blob(who.extra, (*dome, *rim[:5], (0.14 * size, 0.1 * size, top, 0.02)))]
    return []
