"""Where sending the crop, the activations of a cut, or nothing answers a look soonest (Shen, 2019, §4.3.3).

Computed over bandwidth, not run, from ``vehicle-type`` as it is measured here and now, cut by cut. The device is so
many times as slow as the other machine, which is this one; the way there and back takes 5 ms. A crop travels as the
bytes of its pixels, as the product sends it; activations as float16, which nothing here sends yet. With exits a share
of the looks ends at a cut of the device, and only the others cross the wire: with the crop the other machine runs all
of the network, with the activations the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from click.testing import CliRunner

from benchmarks import harness
from pipelines.commands.models.split import command

MODEL, CROP_BYTES = "vehicle-type", 96 * 96 * 3
THERE_AND_BACK_S = 0.005
SLOWER = (2, 8, 32)
"""How many times as long the device takes."""
LEAVING = (0.0, 0.58)
"""Shares of the looks that end at an exit; .58 is what a study found on a busy road."""
MBITS = tuple(10 ** (exponent / 8) for exponent in range(-8, 25))
"""0.1 to 1,000 Mbit/s."""
COLOURS = {"nothing": "#888", "crop": "#c63", "activations": "#2a7"}


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a network can be parted."""

    share: float
    """Share of the latency before it."""
    sent_bytes: int
    """Bytes of its activations, two each."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A network."""

    whole_s: float
    cuts: Sequence[Cut]


def profiled() -> Profile:
    """The network on this machine: ``sluice models split``."""
    said = json.loads(CliRunner().invoke(command, [MODEL, "--json"]).stdout)
    points = [(each["latency_share"], each["shape"]) for each in said["cut_points"]]
    cuts = [Cut(share, 2 * prod(size for size in shape if size)) for share, shape in points]
    return Profile(said["latency_ms"] / 1000, cuts)


def nothing_s(found: Profile, slower: float, leaving: float, per_byte_s: float) -> float:
    """All runs on the device, as far as a look goes."""
    return slower * found.whole_s * (leaving * _exit(found).share + 1 - leaving)


def crop_s(found: Profile, slower: float, leaving: float, per_byte_s: float) -> float:
    """Without exits all goes there at once; with them what has not left at the cut where they sit."""
    there_s = CROP_BYTES * per_byte_s + THERE_AND_BACK_S + found.whole_s
    if not leaving:
        return there_s
    return slower * found.whole_s * _exit(found).share + (1 - leaving) * there_s


def activations_s(found: Profile, slower: float, leaving: float, per_byte_s: float) -> float:
    """The best cut; with exits the one that they sit at."""
    cuts = [_exit(found)] if leaving else found.cuts

    def through(cut: Cut) -> float:
        there_s = cut.sent_bytes * per_byte_s + THERE_AND_BACK_S + (1 - cut.share) * found.whole_s
        return slower * found.whole_s * cut.share + (1 - leaving) * there_s

    return min(map(through, cuts))


WAYS: Mapping[str, Callable[[Profile, float, float, float], float]] = {
    "nothing": nothing_s,
    "crop": crop_s,
    "activations": activations_s,
}


def measure(quick: bool) -> harness.Outcome:
    """Every way at every bandwidth."""
    found = profiled()
    rows = [
        {
            "slower": slower,
            "leaving": leaving,
            "mbit_per_s": round(mbit, 4),
            **{
                f"{way}_ms": round(1000 * mean_s(found, slower, leaving, 8e-6 / mbit), 3)
                for way, mean_s in WAYS.items()
            },
        }
        for slower in SLOWER
        for leaving in LEAVING
        for mbit in MBITS[:: 4 if quick else 1]
    ]
    best = [{**row, "best": min(WAYS, key=lambda way: float(row[f"{way}_ms"]))} for row in rows]
    return harness.Outcome(best, headline(found, best), partial(_draw, best))


def headline(found: Profile, rows: Sequence[harness.Row]) -> dict[str, Any]:
    """The ways that are best from a bandwidth on, Mbit/s."""
    turns: dict[str, list[str]] = {}
    for row in rows:
        ways = turns.setdefault(f"{row['slower']}x, {row['leaving']:g} leave", [])
        if not ways or ways[-1].split(" ")[0] != row["best"]:
            ways.append(f"{row['best']} from {row['mbit_per_s']:g}")
    return {"whole_ms": round(1000 * found.whole_s, 2), "best": turns}


def _exit(found: Profile) -> Cut:
    """The cut where exits sit: the narrowest in the first half."""
    return min((cut for cut in found.cuts if cut.share <= 0.5), key=lambda cut: cut.sent_bytes)


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    grid = figure.subplots(len(LEAVING), len(SLOWER), sharex=True)
    for leaving, line in zip(LEAVING, grid, strict=True):
        for slower, axes in zip(SLOWER, line, strict=True):
            mine = [row for row in rows if (row["slower"], row["leaving"]) == (slower, leaving)]
            for way, colour in COLOURS.items():
                axes.loglog(
                    [row["mbit_per_s"] for row in mine],
                    [row[f"{way}_ms"] for row in mine],
                    color=colour,
                    label=way,
                )
            axes.set_title(f"device {slower} × slower, {leaving:.0%} leave", fontsize=7)
            axes.tick_params(labelsize=6)
    grid[-1][0].set_xlabel("Mbit/s", fontsize=7)
    grid[0][0].set_ylabel("ms for a look", fontsize=7)
    grid[0][0].legend(fontsize=6)


if __name__ == "__main__":
    harness.run("wire_split", measure, __doc__ or "")
