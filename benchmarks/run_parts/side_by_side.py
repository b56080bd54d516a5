"""Runs of the same scene by several modes at the same time, each in a process of its own, compared with the first mode.

``cpu_s`` is processor time of a whole process, its start included. It differs by a tenth from one run to the next, by
what else the machine does. So all modes of a scene run at the same time, started in an order that is drawn by chance,
and are compared with each other alone; that is repeated until every interval is as narrow as ``NARROW``, or there were
so many rounds. What a mode learns of networks in one round it finds in the next, and no other mode does. ``ratio`` is
the median over rounds; ``low`` and ``high`` hold it with 95 %, by the bootstrap (Efron, 1979), which draws the rounds
anew; with somewhat less where they ended the rounds.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.run_parts.sluice_run import own_cache

LEAST_ROUNDS, NARROW = 5, 0.01
"""Half the width of an interval at which its rounds suffice."""
DRAWS, ERROR = 4000, 0.05

Query = Callable[[Path, str], Mapping[str, Any]]
"""Makes the query of a mode for a video."""


@dataclass(frozen=True)
class Scene:
    """What is shown to all modes at the same time."""

    name: str
    video: Path
    frames: int
    modes: Sequence[str]
    """The first is what the others are compared with."""


def compared(scenes: Sequence[Scene], query: Query, folder: Path, most_rounds: int) -> list[harness.Row]:
    """One row for each run; ``folder`` has the models, and gets what runs need."""
    rng, rows = random.Random(0), list[harness.Row]()
    for number in range(most_rounds):
        for scene in rng.sample(scenes, len(scenes)):
            rows += _round(scene, number, query, folder, rng)
        found = headline(rows)
        if number + 1 >= LEAST_ROUNDS and max(each["high"] - each["low"] for each in found.values()) <= 2 * NARROW:
            break
    return rows


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


def _round(scene: Scene, number: int, query: Query, folder: Path, rng: random.Random) -> list[harness.Row]:
    """Processor seconds of all modes, at the same time."""
    running = {mode: _started(scene, mode, query, folder) for mode in rng.sample(scene.modes, len(scene.modes))}
    used = {mode: _cpu_s(process) for mode, process in running.items()}
    base, *others = scene.modes
    where = {"scene": scene.name, "frames": scene.frames, "round": number}
    rows: list[harness.Row] = [{**where, "mode": base, "cpu_s": used[base], "base_cpu_s": None}]
    return rows + [{**where, "mode": mode, "cpu_s": used[mode], "base_cpu_s": used[base]} for mode in others]


def _started(scene: Scene, mode: str, query: Query, folder: Path) -> subprocess.Popen[bytes]:
    file, results = folder / f"{mode}.yaml", folder / f"{mode}.jsonl"
    file.write_text(yaml.safe_dump(query(scene.video, mode)), encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "run", str(file), "--models", str(folder / "models")]
    arguments = ["--out", str(results), "--limit", str(scene.frames)]
    quiet, cache = subprocess.DEVNULL, own_cache(folder / "caches" / mode)
    return subprocess.Popen([*command, *arguments], stdout=quiet, stderr=quiet, env=cache)


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"sluice run ended with {process.returncode}")
    return round(used.ru_utime + used.ru_stime, 3)


def draw(rows: Sequence[harness.Row], figure: Any, goal: float) -> None:
    """All ratios, their medians and intervals."""
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
    axes.axvline(goal, color="tab:red", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(found)), list(found), fontsize=8)
    axes.margins(y=0.12)
    axes.set_title("processor seconds over those of the mode that it is compared with, at the same time", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
