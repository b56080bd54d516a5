"""The options of ``synthetic:street?…``, checked before anything is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

from datasets.street.traffic import DEFAULT_MIX, LABELS

LIGHTS = ("day", "dusk", "night", "cycle")
WEATHERS = ("clear", "rain", "fog")
VIEWS = ("above", "eye-level")
T = TypeVar("T", int, float)


@dataclass(frozen=True)
class Options:
    """Options of a street; ``mix`` are relative frequencies of arrival, ``density`` scales their number."""

    seed: int = 1
    fps: float = 12.0
    duration_s: float = 30.0
    width: int = 640
    height: int = 360
    light: str = "day"
    weather: str = "clear"
    view: str = "above"
    density: float = 1.0
    mix: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_MIX))


NAMES = tuple(entry.name for entry in fields(Options))


def parse_options(options: Mapping[str, str]) -> Options:
    """Options from their text; ``ValueError`` names the option that is wrong and what it may be."""
    readers: dict[str, Callable[[str], object]] = {
        "seed": lambda text: number("seed", text, int, 0, 2**31 - 1),
        "fps": lambda text: number("fps", text, float, 0.1, 120),
        "duration_s": lambda text: number("duration_s", text, float, 0.01, 1e7),
        "width": lambda text: number("width", text, int, 64, 3840),
        "height": lambda text: number("height", text, int, 64, 2160),
        "light": lambda text: choice("light", text, LIGHTS),
        "weather": lambda text: choice("weather", text, WEATHERS),
        "view": lambda text: choice("view", text, VIEWS),
        "density": lambda text: number("density", text, float, 0.01, 10),
        "mix": parse_mix,
    }
    unknown = [name for name in options if name not in readers]
    if unknown:
        raise ValueError(f"unknown street option {unknown[0]!r}: allowed are {', '.join(readers)}")
    return Options(**{name: readers[name](text) for name, text in options.items()})  # type: ignore[arg-type]


def number(name: str, text: str, kind: type[T], low: float, high: float) -> T:
    """A finite number within bounds."""
    try:
        value = kind(text)
    except ValueError:
        value = kind(low) - kind(1)
    if not (math.isfinite(value) and low <= value <= high):
        noun = "a whole number" if kind is int else "a number"
        raise ValueError(f"street option {name}={text!r}: must be {noun} from {low:g} to {high:g}")
    return value


def choice(name: str, text: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words."""
    if text not in allowed:
        raise ValueError(f"street option {name}={text!r}: must be one of {', '.join(allowed)}")
    return text


def parse_mix(text: str) -> Mapping[str, float]:
    """``car:5,person:3`` → weights; classes that are not named do not appear."""
    mix: dict[str, float] = {}
    for part in text.split(","):
        label, _, weight = part.partition(":")
        if label.strip() not in LABELS:
            raise ValueError(f"street option mix: unknown class {label.strip()!r}: allowed are {', '.join(LABELS)}")
        mix[label.strip()] = number(f"mix ({label.strip()})", weight or "1", float, 0, 1e6)
    if not sum(mix.values()) > 0:
        raise ValueError(f"street option mix={text!r}: at least one class needs a weight above 0")
    return mix
