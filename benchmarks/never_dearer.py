"""Whether ``specialize: true`` makes a run dearer in which it has too little time to save anything.

``sluice run`` analyses the first frames of a clip with ``yolox-nano``, a tracker and ``vehicle-type``, every object in
every frame, in a process of its own: with nothing else on, and with ``specialize: true``. ``cpu_s`` is processor time
of the whole process, its start included. A run takes a tenth more or less from one to the next, by what else the
machine does. So both run at the same time, as a pair, which of the two is started first is drawn by chance, and many
short pairs are made. ``ratio`` is the median of the pairs' ratios; ``low`` and ``high`` hold it with 95 %, by the
bootstrap (Efron, 1979), which draws pairs of every clip anew.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from benchmarks.whole_parts.plain import DETECTOR, LEAST, LEAST_AREA, RECOGNISER

SHOWN = ("car park", "persons, bicycles, cars", "persons one by one")
OFF, ON = "nothing on", "specialised"
PAIRS, FRAMES, QUICK_FRAMES = 6, 100, 20
DRAWS, ERROR = 4000, 0.05


def measure(quick: bool) -> harness.Outcome:
    """Every clip with and without; ``quick``: the beginning of one, once."""
    clips, pairs, frames = (SHOWN[:1], 1, QUICK_FRAMES) if quick else (SHOWN, PAIRS, FRAMES)
    with tempfile.TemporaryDirectory(prefix="sluice-dearer-") as scratch:
        folder = Path(scratch)
        models(DETECTOR, folder / "models")
        rng = random.Random(0)
        variants = {clip: partial(_pair, clip, frames, folder, rng) for clip in clips}
        found = harness.interleaved(variants, pairs)
    rows = [
        {"video": clip, "frames": frames, "pair": number, "cpu_s": off, "cpu_s_specialised": on}
        for clip, runs in found.items()
        for number, (off, on) in enumerate(runs)
    ]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """By clip, and over all: the median ratio of the pairs, and between what it lies."""
    ratios = {
        video: np.array([row["cpu_s_specialised"] / row["cpu_s"] for row in rows if row["video"] == video])
        for video in dict.fromkeys(row["video"] for row in rows)
    }
    by_clip = {video: _interval([found]) for video, found in ratios.items()}
    return by_clip | {"all": _interval(list(ratios.values()))}


def _interval(groups: Sequence[NDArray[np.float64]]) -> dict[str, float]:
    """The median of all ratios, with its interval; every group keeps its size in each draw."""
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rng.choice(group, (DRAWS, len(group))) for group in groups], axis=1)
    low, high = np.quantile(np.median(drawn, axis=1), [ERROR / 2, 1 - ERROR / 2])
    found = {"ratio": np.median(np.concatenate(groups)), "low": low, "high": high}
    return {name: round(float(value), 3) for name, value in found.items()}


def _pair(clip: str, frames: int, folder: Path, rng: random.Random) -> tuple[float, float]:
    """Processor seconds without and with it."""
    running = {mode: _started(clip, mode, frames, folder) for mode in rng.sample((OFF, ON), 2)}
    used = {mode: _cpu_s(process) for mode, process in running.items()}
    return used[OFF], used[ON]


def _started(clip: str, mode: str, frames: int, folder: Path) -> subprocess.Popen[bytes]:
    query, results = folder / f"{mode}.yaml", folder / f"{mode}.jsonl"
    query.write_text(yaml.safe_dump(_query(VIDEOS / CLIPS[clip], mode)), encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "run", str(query), "--models", str(folder / "models")]
    arguments = ["--out", str(results), "--limit", str(frames)]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"sluice run ended with {process.returncode}")
    return round(used.ru_utime + used.ru_stime, 2)


def _query(video: Path, mode: str) -> Mapping[str, Any]:
    recognise = {"model": RECOGNISER, "input": f"track[area >= {LEAST_AREA}]", "answer": "look"}
    return {
        "version": 1,
        "name": "dearer",
        "slo_ms": 60_000,
        "streams": [{"id": "camera", "uri": str(video.resolve())}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": DETECTOR, "min_confidence": LEAST},
            {"name": "track", "task": "track", "input": "detect"},
            {"name": "type", "task": "recognise", **recognise, **({"specialize": True} if mode == ON else {})},
        ],
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes, found = figure.subplots(), headline(rows)
    names = list(found)
    for place, name in enumerate(names):
        ratios = [row["cpu_s_specialised"] / row["cpu_s"] for row in rows if name in (row["video"], "all")]
        axes.scatter([place] * len(ratios), ratios, color="lightgray", s=18, zorder=1)
        middle, low, high = (found[name][key] for key in ("ratio", "low", "high"))
        axes.errorbar(place, middle, [[middle - low], [high - middle]], fmt="o", color="tab:blue", capsize=4)
        axes.annotate(f"{middle:.3f}\n{low:.3f} to {high:.3f}", (place + 0.08, middle), fontsize=8)
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.axhline(1.02, color="tab:red", linewidth=0.8, linestyle="--")
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.4, len(names) - 0.2)
    axes.set_title("processor seconds with specialize: true over without, pairs of runs at the same time", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    harness.run("never_dearer", measure, __doc__ or "")
