"""Whether ``specialize: true`` makes a run dearer in which it has too little time to save anything.

``sluice run`` analyses the first frames of a clip with ``yolox-nano``, a tracker and ``vehicle-type``, every object in
every frame, in a process of its own: with nothing else on, and with ``specialize: true``. ``cpu_s`` is processor time
of the whole process, its start included. Runs differ by a tenth from one to the next where other work shares the
machine, so they are repeated in random order; ``ratio`` is that of the means, and ``ratio_error`` its standard error.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import yaml

from benchmarks import harness
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from benchmarks.whole_parts.plain import DETECTOR, LEAST, LEAST_AREA, RECOGNISER

SHOWN = ("car park", "persons, bicycles, cars", "persons one by one")
OFF, ON = "nothing on", "specialised"
ROUNDS, FRAMES, QUICK_FRAMES = 4, 300, 20


def measure(quick: bool) -> harness.Outcome:
    """Every clip with and without; ``quick``: the beginning of one, once."""
    clips, rounds, frames = (SHOWN[:1], 1, QUICK_FRAMES) if quick else (SHOWN, ROUNDS, FRAMES)
    with tempfile.TemporaryDirectory(prefix="sluice-dearer-") as scratch:
        folder = Path(scratch)
        models(DETECTOR, folder / "models")
        variants = {(clip, mode): partial(_cpu_s, clip, mode, frames, folder) for clip in clips for mode in (OFF, ON)}
        found = harness.interleaved(variants, rounds)
    rows = [
        {"video": clip, "mode": mode, "frames": frames, "round": number, "cpu_s": cpu_s}
        for (clip, mode), runs in found.items()
        for number, cpu_s in enumerate(runs)
    ]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """By clip, and over all: the mean with it over the mean without, and how uncertain that is."""
    by_clip = {video: _ratio(rows, video) for video in dict.fromkeys(row["video"] for row in rows)}
    logs = [math.log(ratio) for ratio, _ in by_clip.values()]
    over_all = math.exp(fmean(logs)), math.hypot(*(error for _, error in by_clip.values())) / len(by_clip)
    return {
        name: {"ratio": round(ratio, 3), "ratio_error": round(error, 3)}
        for name, (ratio, error) in {**by_clip, "all": over_all}.items()
    }


def _ratio(rows: Sequence[harness.Row], video: str) -> tuple[float, float]:
    on, off = ([row["cpu_s"] for row in rows if (row["video"], row["mode"]) == (video, mode)] for mode in (ON, OFF))
    ratio = fmean(on) / fmean(off)
    return ratio, ratio * math.hypot(*(_relative_error(runs) for runs in (on, off)))


def _relative_error(runs: Sequence[float]) -> float:
    return stdev(runs) / math.sqrt(len(runs)) / fmean(runs) if len(runs) > 1 else math.nan


def _cpu_s(clip: str, mode: str, frames: int, folder: Path) -> float:
    query = folder / "query.yaml"
    query.write_text(yaml.safe_dump(_query(VIDEOS / CLIPS[clip], mode)), encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "run", str(query), "--models", str(folder / "models")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*command, "--out", str(folder / "results.jsonl"), "--limit", str(frames)], check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


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
    axes = figure.subplots()
    names = list(dict.fromkeys(row["video"] for row in rows))
    for mode, colour, shift in ((OFF, "tab:gray", -0.1), (ON, "tab:blue", 0.1)):
        of = [row for row in rows if row["mode"] == mode]
        axes.scatter(
            [names.index(row["video"]) + shift for row in of], [row["cpu_s"] for row in of], color=colour, label=mode
        )
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(bottom=0)
    axes.set_title("processor seconds of each run", fontsize=9)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    harness.run("never_dearer", measure, __doc__ or "")
