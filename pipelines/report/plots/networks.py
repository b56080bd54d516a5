"""Pictures of networks: their variants, in time and quality."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from pipelines.measure.profile_models import ProfiledModel, quality
from serving.errors import BadInput
from serving.variants.profiles import Profile

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")
MARKS = {"onnxruntime": "o", "openvino": "^"}


def save_variants(path: Path, models: Sequence[ProfiledModel]) -> None:
    """How long an item takes, how good answers are, which variants are worth having; raises BadInput."""
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for index, known in enumerate(models):
        _draw(axes, known, COLOURS[index % len(COLOURS)])
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("latency of one item, ms (filled: no other is both faster and better)")
    axes.set_ylabel(_measure(models))
    axes.grid(alpha=0.3)
    figure.legend(fontsize=8, loc="outside upper center", ncols=2, frameon=False)
    _write(figure, path)


def _draw(axes: Any, known: ProfiledModel, colour: str) -> None:
    pairs = list(zip(known.profiles, known.pareto(), strict=True))
    for engine, mark in MARKS.items():
        mine = [(profile, best) for profile, best in pairs if f"@{engine}-" in profile.variant]
        faces = [colour if best else "none" for _, best in mine]
        label = f"{known.model}, {engine}" if mine else None
        axes.scatter(*_places(profile for profile, _ in mine), marker=mark, c=faces, edgecolors=colour, label=label)
    front = sorted((profile for profile, best in pairs if best), key=lambda profile: profile.latency_s[1])
    axes.plot(*_places(front), color=colour, linewidth=0.8)
    for profile in front:
        name = profile.variant.partition("@")[2]
        axes.annotate(name, _place(profile), xytext=(4, -9), textcoords="offset points", fontsize=6)


def _places(profiles: Any) -> tuple[list[float], list[float]]:
    places = [_place(profile) for profile in profiles]
    return [x for x, _ in places], [y for _, y in places]


def _place(profile: Profile) -> tuple[float, float]:
    return profile.latency_s[1] * 1e3, quality(profile)


def _measure(models: Sequence[ProfiledModel]) -> str:
    known = {profile.accuracy is not None for each in models for profile in each.profiles}
    return {True: "accuracy", False: "agreement with the reference"}[known == {True}]


def _write(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, format="png", dpi=110)
    except OSError as error:
        raise BadInput(f"--plot {path}: cannot be written ({error.strerror})") from None
