"""What specialization spares on real video, detector included: ``sluice run`` on whole clips.

Each clip is analysed as ``examples/vehicles.yaml`` does it (motion, tracks, ``vehicle-type``), in a process of its own:

``oracle``       all looks at an object are the network's
``specialised``  the node says ``specialize: true``

``recognition_s`` is the time that frames spent in the recognise node, audits that were in their way included; ``cpu_s``
the processor time of the whole process, with decoding, detection, audits and training in the background. Agreement is
counted on every object of every frame: the oracle's run has the same objects. The street is generated.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import harness
from benchmarks.run_parts.sluice_run import Run, sluice_run

DATA = Path(os.environ.get("SLUICE_DATA", "../shared/data")) / "videos"
CLIPS = {
    "car park": DATA / "car-detection.mp4",
    "persons, bicycles, cars": DATA / "person-bicycle-car-detection.mp4",
    "persons one by one": DATA / "one-by-one-person-detection.mp4",
    "bottles": DATA / "bottle-detection.mp4",
    "generated street": "synthetic:street?seed=3&duration_s=60&fps=10&mix=car:5,pickup:1,minibus:1,truck:1",
}
MODES: Mapping[str, Mapping[str, Any]] = {
    "oracle": {},
    "specialised": {"specialize": True},
}
ACCURACY = 0.95
ROUNDS = 2
QUICK_FRAMES = 60
NODE = "type"

Answers = Mapping[tuple[int, int], tuple[Any, str]]
"""By frame and object: the box, and what it was called."""


def measure(quick: bool) -> harness.Outcome:
    """All clips in all modes by turns; ``quick``: the beginning of two clips, once."""
    clips = list(CLIPS)[:2] if quick else list(CLIPS)
    variants = {(clip, mode): partial(_run, clip, mode, quick) for clip in clips for mode in MODES}
    found = harness.interleaved(variants, 1 if quick else ROUNDS)
    rows = [
        _row(clip, mode, number, run, found[clip, "oracle"][number])
        for (clip, mode), runs in found.items()
        for number, run in enumerate(runs)
    ]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Medians over the rounds, of the specialised modes, by clip; over all rounds and clips the mean of the process."""
    names = {"recognition_speedup": "recognition", "cpu_speedup": "cpu", "agreement": "agreement"}
    found: dict[str, dict[str, Any]] = {}
    for mode in (each for each in MODES if each != "oracle"):
        found[mode] = {
            name: {clip: _median(rows, clip, mode, key) for clip in dict.fromkeys(row["clip"] for row in rows)}
            for key, name in names.items()
        }
        found[mode]["cpu_mean"] = harness.mean_ratio([row["cpu_speedup"] for row in rows if row["mode"] == mode])
    return found


def agreement(answers: Answers, oracle: Answers) -> float:
    """Share of the objects that are called the same; raises ValueError where these are not the same objects."""
    if {key: box for key, (box, _) in answers.items()} != {key: box for key, (box, _) in oracle.items()}:
        raise ValueError("the runs found different objects: they cannot be compared")
    return sum(label == oracle[key][1] for key, (_, label) in answers.items()) / len(answers) if answers else 1.0


def query(added: Mapping[str, Any]) -> Mapping[str, Any]:
    """Motion, tracks and ``vehicle-type``; ``added``: further keys of the node that recognises."""
    recognise = {"task": "recognise", "input": "track[area >= 0.002]", "model": "vehicle-type", **added}
    return {
        "version": 1,
        "name": "weg-video",
        "slo_ms": 60_000,
        "accuracy": ACCURACY,
        "nodes": [
            {"name": "detect", "task": "detect", "model": "motion"},
            {"name": "track", "task": "track", "input": "detect"},
            {"name": NODE, **recognise},
        ],
    }


def _run(clip: str, mode: str, quick: bool) -> Run:
    limit = ["--limit", str(QUICK_FRAMES)] if quick else []
    with tempfile.TemporaryDirectory() as scratch:
        return sluice_run(Path(scratch), query(MODES[mode]), "--source", str(CLIPS[clip]), *limit)


def _row(clip: str, mode: str, number: int, run: Run, oracle: Run) -> harness.Row:
    said, spent_s = _answers(run.lines), run.node_s(NODE)
    done: Mapping[str, Any] = next(iter(run.report["specialization"]), {})
    return {
        "clip": clip,
        "mode": mode,
        "round": number,
        "frames": len(run.lines),
        "objects": len(said),
        "recognition_s": round(spent_s, 3),
        "recognition_speedup": round(oracle.node_s(NODE) / spent_s, 3),
        "cpu_s": round(run.cpu_s, 2),
        "cpu_speedup": round(oracle.cpu_s / run.cpu_s, 3),
        "wall_s": round(run.wall_s, 2),
        "agreement": round(agreement(said, _answers(oracle.lines)), 4),
        "special_rate": done.get("special_rate", ""),
        "cascade_rate": done.get("cascade_rate", ""),
        "transitions": done.get("transitions", ""),
        "mean_dominant": done.get("mean_dominant", ""),
        "mean_window": done.get("mean_window", ""),
        "reused": done.get("reused", ""),
        "audits": done.get("audits", ""),
        "oracle_runs_spared": done.get("saving", ""),
        "switched_off": sum(audit["switched_off"] for audit in run.report["audits"]),
    }


def _answers(lines: Sequence[Mapping[str, Any]]) -> Answers:
    return {
        (line["seq"], found["id"]): (found["detection"]["bounding_box"], found["attributes"][0]["label"])
        for line in lines
        for found in line["objects"]
        if found["attributes"]
    }


def _median(rows: Sequence[harness.Row], clip: str, mode: str, key: str) -> float:
    values = [float(row[key]) for row in rows if (row["clip"], row["mode"]) == (clip, mode)]
    return round(median(values), 4)


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots(1, 3, sharey=True)
    clips = list(dict.fromkeys(row["clip"] for row in rows))
    titles = {"recognition_speedup": "recognition, speed-up", "cpu_speedup": "whole process, speed-up"}
    for ax, (key, title) in zip(axes, (titles | {"agreement": "agreement with the oracle"}).items(), strict=True):
        for place, mode in enumerate(mode for mode in MODES if mode != "oracle"):
            values = [_median(rows, clip, mode, key) for clip in clips]
            bars = ax.barh([row + 0.4 * place for row in range(len(clips))], values, 0.38, label=mode)
            ax.bar_label(bars, fmt="%.2f" if key != "agreement" else "%.3f", fontsize=7, padding=2)
        ax.axvline(1.0 if key != "agreement" else ACCURACY, color="grey", linewidth=0.8)
        ax.set_title(title, fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(x=0.15)
    axes[2].set_xlim(0.8, 1.03)
    axes[0].set_yticks([row + 0.2 for row in range(len(clips))], clips)
    axes[0].invert_yaxis()
    axes[0].legend(frameon=False, fontsize=7)


if __name__ == "__main__":
    harness.run("weg_video", measure, __doc__ or "")
