"""Whether options that are to save work make a run dearer in which they cannot save any.

``sluice run`` analyses the first frames of a clip, in a process of its own. ``learning``: ``yolox-nano`` where it is
needed, a tracker and ``vehicle-type`` with an answer for each track: with nothing else on, with ``specialize: true``,
with ``caches: true``, and with both. ``busy``: ``yolox-nano`` and a tracker on scenes where nearly every frame needs
the detector, a generated street that is full and a clip whose camera shakes: on every frame, and ``when: needed``,
looking ahead and live. ``cpu_s`` is processor time of the whole process, its start included. It differs by a tenth from
one run to the next, by what else the machine does. So all modes run at the same time, started in an order that is drawn
by chance, and are compared with each other alone; that is repeated until every interval is as narrow as ``NARROW`` or
there were ``MOST_ROUNDS``. ``ratio`` is the median over rounds; ``low`` and ``high`` hold it with 95 %, by the
bootstrap (Efron, 1979), which draws the rounds anew.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from benchmarks.whole_parts.plain import DETECTOR, LEAST, LEAST_AREA, RECOGNISER
from datasets.street import open_street
from datasets.video import write_mp4
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from serving.common.tensors import Image

LEARNING: Mapping[str, Mapping[str, Any]] = {
    "needed": {},
    "specialize": {"specialize": True},
    "caches": {"caches": True},
    "both": {"specialize": True, "caches": True},
}
"""Options of the recogniser, by mode; the others are compared with the first."""
BUSY: Mapping[str, tuple[str, str]] = {
    "every frame": ("always", "block"),
    "look-ahead": ("needed", "block"),
    "live": ("needed", "drop_oldest"),
}
"""``when`` of the detector and ``overload`` of the stream, by mode; nothing is dropped."""
CLIP, LENGTHS, QUICK_FRAMES = "car park", (100, 300), 20
STREET = {"seed": "3", "density": "10", "fps": "5", "duration_s": "120"}
SHAKEN, SHAKEN_FRAMES, SHAKE = "street level", 300, 40
"""Pixels by which the picture jumps from one frame to the next, at most, in each direction."""
LEAST_ROUNDS, MOST_ROUNDS, NARROW = 5, 40, 0.01
"""Half the width of an interval at which its rounds suffice."""
GOAL = 1.02
DRAWS, ERROR = 4000, 0.05


@dataclass(frozen=True)
class Scene:
    """What is shown to all modes at the same time."""

    name: str
    video: Path
    frames: int
    modes: Sequence[str]
    """The first is what the others are compared with."""


def measure(quick: bool) -> harness.Outcome:
    """All scenes; ``quick``: the beginning of one, once."""
    with tempfile.TemporaryDirectory(prefix="sluice-dearer-") as scratch:
        folder, rng, rows = Path(scratch), random.Random(0), list[harness.Row]()
        models(DETECTOR, folder / "models")
        scenes = _scenes(folder, quick)
        for number in range(1 if quick else MOST_ROUNDS):
            for scene in rng.sample(scenes, len(scenes)):
                rows += _round(scene, number, folder, rng)
            found = headline(rows)
            print(f"round {number}: {found}", flush=True)
            if number + 1 >= LEAST_ROUNDS and max(each["high"] - each["low"] for each in found.values()) <= 2 * NARROW:
                break
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """By scene and mode: the median ratio, and between what it lies."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        if row["base_cpu_s"] is not None:
            key = f"{row['scene']}, {row['frames']} frames: {row['mode']}"
            ratios.setdefault(key, []).append(row["cpu_s"] / row["base_cpu_s"])
    return {key: _interval(np.array(found)) for key, found in sorted(ratios.items())}


def _interval(ratios: NDArray[np.float64]) -> dict[str, float]:
    drawn = np.random.default_rng(0).choice(ratios, (DRAWS, len(ratios)))
    low, high = np.quantile(np.median(drawn, axis=1), [ERROR / 2, 1 - ERROR / 2])
    found = {"ratio": np.median(ratios), "low": low, "high": high}
    return {name: round(float(value), 3) for name, value in found.items()}


def _scenes(folder: Path, quick: bool) -> list[Scene]:
    lengths = (QUICK_FRAMES,) if quick else LENGTHS
    found = [Scene(CLIP, VIDEOS / CLIPS[CLIP], frames, list(LEARNING)) for frames in lengths]
    if quick:
        return found
    street, shaken, fps = folder / "street.mp4", folder / "shaken.mp4", float(STREET["fps"])
    frames = write_mp4(street, (each.image for each in open_street(STREET)), fps, 20)
    write_mp4(shaken, islice(_shaken(), SHAKEN_FRAMES), 25.0, 22)
    return [
        *found,
        Scene("full street", street, frames, list(BUSY)),
        Scene("shaken camera", shaken, SHAKEN_FRAMES, list(BUSY)),
    ]


def _shaken() -> Iterator[Image]:
    """A clip through a window that jumps about."""
    rng = np.random.default_rng(0)
    source = open_source(SourceUri(str(VIDEOS / CLIPS[SHAKEN])), Sampling(), None)
    try:
        for picture in source.pictures():
            height, width = (side - 2 * SHAKE - side % 2 for side in picture.image.shape[:2])
            top, left = rng.integers(0, 2 * SHAKE, 2)
            yield np.ascontiguousarray(picture.image[top : top + height, left : left + width])
    finally:
        source.close()


def _round(scene: Scene, number: int, folder: Path, rng: random.Random) -> list[harness.Row]:
    """Processor seconds of all modes, at the same time."""
    running = {mode: _started(scene, mode, folder) for mode in rng.sample(scene.modes, len(scene.modes))}
    used = {mode: _cpu_s(process) for mode, process in running.items()}
    base, *others = scene.modes
    where = {"scene": scene.name, "frames": scene.frames, "round": number}
    rows: list[harness.Row] = [{**where, "mode": base, "cpu_s": used[base], "base_cpu_s": None}]
    return rows + [{**where, "mode": mode, "cpu_s": used[mode], "base_cpu_s": used[base]} for mode in others]


def _started(scene: Scene, mode: str, folder: Path) -> subprocess.Popen[bytes]:
    query, results = folder / f"{mode}.yaml", folder / f"{mode}.jsonl"
    query.write_text(yaml.safe_dump(_query(scene.video, mode)), encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "run", str(query), "--models", str(folder / "models")]
    arguments = ["--out", str(results), "--limit", str(scene.frames)]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"sluice run ended with {process.returncode}")
    return round(used.ru_utime + used.ru_stime, 3)


def _query(video: Path, mode: str) -> Mapping[str, Any]:
    when, overload = BUSY.get(mode, ("needed", "block"))
    nodes: list[Mapping[str, Any]] = [
        {"name": "detect", "task": "detect", "model": DETECTOR, "min_confidence": LEAST, "when": when},
        {"name": "track", "task": "track", "input": "detect"},
    ]
    if mode in LEARNING:
        recognise = {"model": RECOGNISER, "input": f"track[area >= {LEAST_AREA}]", **LEARNING[mode]}
        nodes.append({"name": "type", "task": "recognise", **recognise})
    streams = [{"id": "camera", "uri": str(video.resolve()), "overload": overload}]
    return {"version": 1, "name": "dearer", "slo_ms": 60_000, "streams": streams, "nodes": nodes}


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes, found = figure.subplots(), headline(rows)
    for place, (name, interval) in enumerate(found.items()):
        scene, frames, mode = name.partition(", ")[0], int(name.split(", ")[1].split()[0]), name.partition(": ")[2]
        ratios = [
            row["cpu_s"] / row["base_cpu_s"]
            for row in rows
            if (row["scene"], row["frames"], row["mode"]) == (scene, frames, mode)
        ]
        axes.scatter(ratios, [place] * len(ratios), color="lightgray", s=18, zorder=1)
        middle, low, high = (interval[key] for key in ("ratio", "low", "high"))
        axes.errorbar(middle, place, xerr=[[middle - low], [high - middle]], fmt="o", color="tab:blue", capsize=4)
        axes.annotate(f"{middle:.3f}, {low:.3f} to {high:.3f}", (middle, place + 0.15), fontsize=7)
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.axvline(GOAL, color="tab:red", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(found)), list(found), fontsize=8)
    axes.set_title("processor seconds over those of the mode that it is compared with, at the same time", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    harness.run("never_dearer", measure, __doc__ or "")
