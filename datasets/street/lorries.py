"""Heavy vehicles: trucks on one frame, and juggernauts (a tractor with a long trailer)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from datasets.street.cars import DARK, LAMP, TAIL, paint_of
from datasets.street.decals import decal
from datasets.street.mesh import GLASS, Mesh, MeshBuilder
from datasets.street.palette import between, chance, pick, scaled, varied
from datasets.street.sprite import Colour

Rng = np.random.Generator
STEEL: Colour = (132, 134, 134)
CARGO: tuple[Colour, ...] = (
    (150, 160, 166),
    (110, 150, 180),
    (80, 110, 150),
    (120, 190, 220),
    (70, 74, 78),
    (210, 214, 214),
)


def truck(rng: Rng) -> Mesh:
    """A rigid lorry: box body, drop sides, tipper or refuse body behind its cab."""
    length, width = between(rng, 5.6, 8.6), between(rng, 1.0, 1.22)
    front, rear = length / 2, -length / 2
    cab_length, cab_top = between(rng, 1.5, 1.9), between(rng, 2.15, 2.9)
    deck = between(rng, 0.9, 1.1)
    cab_rear = front - cab_length
    mesh = MeshBuilder()
    mesh.section((rear + cab_rear) / 2)
    axles = (
        (rear + length * 0.2, rear + length * 0.2 + 1.15)
        if length > 7.4 and chance(rng, 0.6)
        else (rear + length * 0.2,)
    )
    chassis(mesh, (rear, cab_rear), width, deck, axles, rng)
    what = pick(rng, ("box", "sides", "tipper", "refuse"), (4, 4, 2, 1))
    body(mesh, rng, what, (rear, cab_rear - 0.12), width, deck, between(rng, 2.7, 3.6))
    mesh.section(front)
    cab(mesh, rng, (cab_rear, front), width * 0.96, (0.42, cab_top), sleeper=False)
    heavy_wheels(mesh, rng, (front - cab_length * 0.55,), width, between(rng, 0.4, 0.48))
    return mesh.build()


def juggernaut(rng: Rng) -> Mesh:
    """An articulated lorry: tall tractor, gap, and a trailer on two or three axles."""
    trailer, width = between(rng, 8.5, 12.4), between(rng, 1.2, 1.28)
    cab_length, cab_top = between(rng, 2.0, 2.4), between(rng, 3.0, 3.75)
    length = trailer + cab_length + between(rng, 0.5, 0.9)
    front, rear = length / 2, -length / 2
    trailer_front, cab_rear, deck = rear + trailer, front - cab_length, between(rng, 1.1, 1.3)
    mesh = MeshBuilder()
    mesh.section(rear + trailer / 2)
    first = rear + between(rng, 1.0, 1.8)
    axles = tuple(first + 1.25 * index for index in range(int(rng.integers(2, 4))))
    chassis(mesh, (rear, trailer_front), width, deck, axles, rng)
    what = pick(rng, ("box", "sides", "tipper", "tank", "container"), (4, 4, 3, 1.5, 2))
    body(mesh, rng, what, (rear, trailer_front), width, deck, between(rng, 3.4, 4.0))
    mesh.section(front - cab_length)
    drive = (cab_rear - 0.35,) if chance(rng, 0.6) else (cab_rear - 0.5, cab_rear + 0.7)
    mesh.box((cab_rear - 1.3, cab_rear), width * 0.5, (0.6, 0.95), DARK)
    heavy_wheels(mesh, rng, drive, width, 0.5)
    mesh.section(front)
    cab(mesh, rng, (cab_rear, front), width * 0.97, (0.45, cab_top), sleeper=True)
    heavy_wheels(mesh, rng, (front - cab_length * 0.6,), width, 0.5)
    return mesh.build()


def chassis(
    mesh: MeshBuilder, x: tuple[float, float], width: float, deck: float, axles: tuple[float, ...], rng: Rng
) -> None:
    """The frame with its wheels, mudguards, guard rail and rear lamps."""
    rear, front = x
    mesh.box((rear + 0.1, front), width * 0.6, (0.55, deck), (54, 54, 56))
    heavy_wheels(mesh, rng, axles, width, between(rng, 0.44, 0.5))
    clear = max(axles) + 0.7
    if front - clear > 1.2:
        mesh.both_sides(
            [(clear, 0.5), (front - 0.6, 0.5), (front - 0.6, 0.85), (clear, 0.85)],
            lambda _: width * 0.97,
            scaled(STEEL, between(rng, 0.5, 1.1)),
        )
    for u in ((-0.95, -0.7), (0.7, 0.95)):
        mesh.panel((rear + 0.09, 0.6), (rear + 0.09, deck), lambda _: width, u, (0.2, 0.8), TAIL, (-1, 0, 0))


def heavy_wheels(mesh: MeshBuilder, rng: Rng, axles: tuple[float, ...], width: float, radius: float) -> None:
    """Large wheels with steel rims."""
    rim = varied(rng, (168, 168, 166), 20)
    for x in axles:
        mesh.wheel(x, radius, width, rim, 6)


def cab(
    mesh: MeshBuilder, rng: Rng, x: tuple[float, float], width: float, z: tuple[float, float], sleeper: bool
) -> None:
    """A forward-control cab: steep windscreen, side window, grille, lamps, and a wind deflector or none."""
    rear, front = x
    low, top = z
    colour = varied(rng, (232, 232, 230)) if chance(rng, 0.4) else paint_of(rng)
    brow = front - between(rng, 0.12, 0.35)
    sill = low + (top - low) * between(rng, 0.42, 0.5)
    half = lambda height: width * (1 - 0.05 * np.clip((height - sill) / (top - sill), 0, 1))  # noqa: E731
    mesh.extrude([(rear, low), (rear, top), (brow, top), (front, sill), (front, low)], half, colour)
    tint = varied(rng, GLASS, 10)
    glass_top = 0.62 if sleeper else 0.85
    mesh.panel((front, sill), (brow, top), half, (-0.92, 0.92), (0.06, glass_top), tint, (1, 0, 0.2))
    mesh.panel((front, sill), (brow, top), half, (-0.5, 0.1), (0.2, glass_top), scaled(tint, 1.6), (1, 0, 0.2))
    high = sill + (top - sill) * glass_top
    door = front - min(0.95, (front - rear) * 0.6)
    mesh.both_sides([(door, sill + 0.05), (door, high), (front - 0.3, high), (front - 0.12, sill + 0.05)], half, tint)
    mesh.both_sides([(door + 0.1, (sill + high) / 2), (door + 0.1, high), (front - 0.3, high)], half, scaled(tint, 1.5))
    mesh.both_sides(
        [(door - 0.06, low + 0.3), (door - 0.06, high), (door - 0.01, high), (door - 0.01, low + 0.3)],
        half,
        scaled(colour, 0.6),
    )
    nose = (front, low)
    mesh.panel(nose, (front, sill), half, (-0.6, 0.6), (0.4, 0.9), DARK, (1, 0, 0))
    mesh.panel(nose, (front, sill), half, (-1, 1), (0, 0.25), scaled(STEEL, 0.7), (1, 0, 0))
    for u in ((-0.95, -0.62), (0.62, 0.95)):
        mesh.panel(nose, (front, sill), half, u, (0.08, 0.3), LAMP, (1, 0, 0))
    mesh.both_sides(
        [(front - 0.3, low + 0.1), (front - 0.02, low + 0.1), (front - 0.02, low + 0.3), (front - 0.3, low + 0.3)],
        half,
        LAMP,
    )
    if chance(rng, 0.6 if sleeper else 0.3):
        mesh.extrude([(rear + 0.1, top), (rear + 0.2, top + 0.45), (brow - 0.5, top)], lambda _: width * 0.85, colour)


def body(mesh: MeshBuilder, rng: Rng, what: str, x: tuple[float, float], width: float, deck: float, top: float) -> None:
    """What the frame carries."""
    bodies: dict[str, Callable[[], None]] = {
        "box": lambda: box_body(mesh, rng, x, width, deck, top, ribs=False),
        "container": lambda: box_body(mesh, rng, x, width, deck, top * 0.95, ribs=True),
        "refuse": lambda: box_body(mesh, rng, x, width, deck - 0.2, top * 0.9, ribs=True),
        "sides": lambda: open_body(mesh, rng, x, width, deck, between(rng, 0.5, 0.62) * top, slats=True),
        "tipper": lambda: open_body(mesh, rng, x, width, deck, between(rng, 0.55, 0.72) * top, slats=False),
        "tank": lambda: tank_body(mesh, rng, x, width, deck, top * 0.9),
    }
    bodies[what]()


def box_body(
    mesh: MeshBuilder, rng: Rng, x: tuple[float, float], width: float, deck: float, top: float, ribs: bool
) -> None:
    """A closed box or curtain sides, plain, ribbed or lettered."""
    colour = varied(rng, (224, 224, 222)) if chance(rng, 0.45) else paint_of(rng)
    mesh.box(x, width, (deck, top), colour)
    half = lambda _: width  # noqa: E731
    mesh.both_sides([(x[0], deck), (x[1], deck), (x[1], deck + 0.14), (x[0], deck + 0.14)], half, scaled(colour, 0.65))
    mesh.both_sides([(x[0], top - 0.08), (x[1], top - 0.08), (x[1], top), (x[0], top)], half, scaled(colour, 0.75))
    mesh.panel((x[0], deck), (x[0], top), half, (-0.02, 0.02), (0, 1), scaled(colour, 0.5), (-1, 0, 0))
    if ribs:
        for at in np.arange(x[0] + 0.3, x[1], 0.6):
            mesh.both_sides(
                [(at, deck + 0.14), (at, top - 0.08), (at + 0.12, top - 0.08), (at + 0.12, deck + 0.14)],
                half,
                scaled(colour, 0.82),
            )
    if chance(rng, 0.65):
        decal(mesh, rng, (x[0] + 0.3, x[1] - 0.3), (deck + 0.3, top - 0.2), half)


def open_body(
    mesh: MeshBuilder, rng: Rng, x: tuple[float, float], width: float, deck: float, rim: float, slats: bool
) -> None:
    """An open body seen from above: boards or steel sides, and the load inside."""
    colour = varied(rng, (96, 128, 156)) if slats and chance(rng, 0.4) else paint_of(rng)
    half = lambda _: width  # noqa: E731
    mesh.box(x, width, (deck, rim), colour)
    inside = scaled(colour, 0.4)
    mesh.panel((x[0] + 0.08, rim), (x[1] - 0.08, rim), half, (-0.93, 0.93), (0, 1), inside, (0, 0, 1))
    step = between(rng, 0.9, 1.6)
    for at in np.arange(x[0], x[1], step):
        mesh.both_sides([(at, deck), (at, rim), (at + 0.1, rim), (at + 0.1, deck)], half, scaled(colour, 0.6))
    if slats:
        for z in np.arange(deck + 0.2, rim - 0.05, 0.24):
            mesh.both_sides([(x[0], z), (x[1], z), (x[1], z + 0.05), (x[0], z + 0.05)], half, scaled(colour, 0.55))
    cargo(mesh, rng, x, width, rim)


def cargo(mesh: MeshBuilder, rng: Rng, x: tuple[float, float], width: float, rim: float) -> None:
    """A heap of bulk goods, stacked boxes, or an empty bed."""
    colour = varied(rng, pick(rng, CARGO))
    what = pick(rng, ("heap", "boxes", "empty"), (3, 2, 2))
    if what == "heap":
        count = max(int((x[1] - x[0]) / 2.5), 1)
        for start, stop in zip(
            np.linspace(x[0], x[1], count + 1)[:-1], np.linspace(x[0], x[1], count + 1)[1:], strict=True
        ):
            peak = rim + between(rng, 0.15, 0.55)
            outline = [(start + 0.1, rim), (start + 0.6, peak), (stop - 0.6, peak), (stop - 0.1, rim)]
            mesh.extrude(outline, lambda z, peak=peak: width * (0.9 - 0.45 * (z - rim) / (peak - rim)), colour)  # type: ignore[misc]
    elif what == "boxes":
        at = x[0] + 0.3
        while at < x[1] - 1.4:
            size = between(rng, 0.8, 1.5)
            mesh.box(
                (at, at + size),
                width * between(rng, 0.6, 0.88),
                (rim - 0.1, rim + between(rng, 0.15, 0.8)),
                varied(rng, colour),
            )
            at += size + between(rng, 0.05, 0.5)


def tank_body(mesh: MeshBuilder, rng: Rng, x: tuple[float, float], width: float, deck: float, top: float) -> None:
    """A tank of elliptic section with a walkway on top."""
    colour = varied(rng, (214, 214, 212)) if chance(rng, 0.6) else paint_of(rng)
    middle, radius = (deck + top) / 2, (top - deck) / 2
    heights = np.linspace(deck, top, 7)
    profile = [
        (x[0], deck + 0.2),
        (x[0], top - 0.3),
        (x[0] + 0.3, top),
        (x[1] - 0.3, top),
        (x[1], top - 0.3),
        (x[1], deck),
    ]
    half = lambda z: width * np.sqrt(max(1 - ((z - middle) / (radius * 1.05)) ** 2, 0.12))  # noqa: E731
    mesh.extrude([(x[0], deck), (x[0], top), (x[1], top), (x[1], deck)], lambda _: width * 0.35, colour)
    for low, high in zip(heights[:-1], heights[1:], strict=True):
        gain = 0.62 + 0.5 * (low - deck) / (top - deck)
        mesh.both_sides([(x[0], low), (x[0], high), (x[1], high), (x[1], low)], half, scaled(colour, gain))
        mesh.face(
            [(x[0], -half(low), low), (x[0], half(low), low), (x[0], half(high), high), (x[0], -half(high), high)],
            scaled(colour, 0.8),
            (-1, 0, 0),
        )
    mesh.box((x[0] + 0.5, x[1] - 0.5), width * 0.35, (top, top + 0.1), STEEL)
    for at in np.linspace(x[0] + 1.2, profile[-1][0] - 1.2, 3):
        mesh.box((at - 0.25, at + 0.25), 0.25, (top, top + 0.25), DARK)
