"""Whole frames of cameras that stand still: a look where it is due, beside a look at every frame.

``sluice run`` classifies five frames a second of each clip with ``input: frame``, once with ``answer: look`` and once
as it does by default, by turns, each in a process of its own. The clips are all the sample data has, shown once, and
two generated streets. Two networks of CIFAR-10 say what they say of a street or of a room, with ``min_confidence: 0``:
few of their words mean anything there, and they are as unsteady as words can be (``steady``: share of consecutive
frames at which a look says the same).

``agreement`` is that of the published answer of each frame with the *majority*: the word that most of the looks at the
frames of the last three seconds say, the latest of equal ones. ``one_look`` is that of each frame's own look with it.
``cpu_ratio`` is the processor time of the whole process, its start and decoding included, over that of a look at every
frame: the median of the rounds.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import harness
from benchmarks.run_parts.sluice_run import Run, sluice_run
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS, street
from benchmarks.weg_parts.cifar_models import LARGE, SMALL, Pictures, write_models

NODE, FPS = "scene", 5.0
MODES: Mapping[str, Mapping[str, str]] = {"every frame": {"answer": "look"}, "when due": {}}
STREETS, STREET_S = {"day": 31, "night": 41}, 120.0
WINDOW_S, MOMENT_S = 3.0, 1e-6
ROUNDS = 3
QUICK_FRAMES = 50


class Said(NamedTuple):
    """The answer of a frame."""

    at_s: float
    word: str
    looked: bool


def measure(quick: bool) -> harness.Outcome:
    """All cameras with both networks; quick: the beginning of one with one."""
    with tempfile.TemporaryDirectory(prefix="sluice-whole-") as scratch:
        folder = Path(scratch)
        write_models(folder / "models", Pictures(1).names)
        cameras = {name: VIDEOS / file for name, file in CLIPS.items()}
        if quick:
            rows = [_row("car park", cameras["car park"], LARGE, folder, ["--limit", str(QUICK_FRAMES)])]
        else:
            cameras |= {f"street, {light}": street(folder, STREETS[light], light, STREET_S)[0] for light in STREETS}
            rows = list(_rows(cameras, folder))
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """The most looks a second, and agreement by network and camera."""
    agreement = {
        network: {row["camera"]: row["agreement"] for row in rows if row["network"] == network}
        for network in dict.fromkeys(row["network"] for row in rows)
    }
    most = {key: max(row[key] for row in rows) for key in ("looks_per_s", "cpu_ratio")}
    return {**most, "agreement": agreement}


def majority(looks: Sequence[Said]) -> list[str]:
    """By frame, the word that most looks of the last seconds say, the latest of equal ones."""
    found, first = [], 0
    for place, look in enumerate(looks):
        while looks[first].at_s <= look.at_s - WINDOW_S + MOMENT_S:
            first += 1
        newest_first = [each.word for each in looks[first : place + 1]][::-1]
        found.append(Counter(newest_first).most_common(1)[0][0])  # of equal ones the first that was counted
    return found


def _rows(cameras: Mapping[str, Path], folder: Path) -> Iterable[harness.Row]:
    for name, video in cameras.items():
        for network in (LARGE, SMALL):
            row = _row(name, video, network, folder)
            print(row, file=sys.stderr)
            yield row


def _row(camera: str, video: Path, network: str, folder: Path, options: Sequence[str] = ()) -> harness.Row:
    variants = {mode: partial(_run, mode, video, network, folder, options) for mode in MODES}
    runs = harness.interleaved(variants, ROUNDS)
    looks, answers = (_said(runs[mode][0]) for mode in MODES)
    wanted = majority(looks)
    return {
        "camera": camera,
        "network": network,
        "frames": len(looks),
        "steady": _share(one.word == next_.word for one, next_ in pairwise(looks)),
        "one_look": _share(look.word == word for look, word in zip(looks, wanted, strict=True)),
        "agreement": _share(said.word == word for said, word in zip(answers, wanted, strict=True)),
        "looks_per_s": round(sum(each.looked for each in answers) / (answers[-1].at_s - answers[0].at_s), 3),
        "cpu_ratio": round(median(ours.cpu_s / every.cpu_s for every, ours in zip(*runs.values(), strict=True)), 3),
    }


def _run(mode: str, video: Path, network: str, folder: Path, options: Sequence[str]) -> Run:
    node = {
        "name": NODE,
        "task": "recognise",
        "input": "frame",
        "model": network,
        "min_confidence": 0,
        "specialize": False,
        **MODES[mode],
    }
    query = {
        "version": 1,
        "name": "whole-frames",
        "slo_ms": 60_000,
        "streams": [{"id": "camera", "uri": str(video.resolve()), "sample": {"fps": FPS}}],
        "nodes": [node],
    }
    return sluice_run(folder, query, "--models", str(folder / "models"), *options)


def _said(run: Run) -> list[Said]:
    return [_of_frame(line) for line in run.lines]


def _of_frame(line: Mapping[str, Any]) -> Said:
    (attribute,) = line["objects"][0]["attributes"]
    looked = attribute["provenance"] != "track" or "looked" in attribute
    return Said(float(line["frame"]["media_time_s"]), str(attribute["label"]), looked)


def _share(held: Iterable[bool]) -> float:
    known = list(held)
    return round(sum(known) / len(known), 4)


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots(1, 3, sharey=True)
    names = [f"{row['camera']}, {row['network']}" for row in rows]
    agreement, looks, time = axes
    for key, colour, label in (("one_look", "lightgray", "each frame's look"), ("agreement", "tab:blue", "when due")):
        agreement.scatter([row[key] for row in rows], range(len(rows)), color=colour, label=label)
    agreement.axvline(0.92, color="grey", linewidth=0.8)
    agreement.set_title("agreement with the majority\nof every frame's look in 3 s", fontsize=9)
    agreement.legend(frameon=False, fontsize=7)
    looks.barh(range(len(rows)), [row["looks_per_s"] for row in rows])
    looks.axvline(1.1, color="grey", linewidth=0.8)
    looks.set_title(f"looks a second (of {FPS:g})", fontsize=9)
    time.barh(range(len(rows)), [row["cpu_ratio"] for row in rows])
    time.axvline(1.0, color="grey", linewidth=0.8)
    time.set_title("processor time over that\nof a look at every frame", fontsize=9)
    axes[0].set_yticks(range(len(rows)), names, fontsize=7)
    axes[0].invert_yaxis()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    harness.run("whole_frames", measure, __doc__ or "")
