"""Answers per track beside answers per look, on real video and on generated streets whose truth is known.

``sluice run`` analyses each video with the boxes of ``motion`` and of ``yolox-nano``, in a process of its own:

``per look``                the network looks at every object in every frame, and each look is an answer
``per track``               the looks at an object are pooled, and made as often as the rule asks for
``per track, specialised``  and the node says ``specialize: true``

``looks`` are objects at which somebody looked, of tracks and of boxes that no track has yet; ``flicker`` is the share
of consecutive answers of a track that differ; ``right`` the share of the boxes of true objects that are called what
they are, ``stated`` the mean confidence of these answers; ``agreement`` that with the oracle alone in the same frames
(per look, or for specialised runs per track). All answers are counted as they are (``min_confidence: 0``); in the
columns with ``sure`` those below what the recogniser's card asks for are ``unknown``: how often they
differ, how many are named, and how many of these rightly. ``node_s`` is the time that frames spent in the node,
``cpu_s`` the processor time of the whole process. Clips are shown once, and again and again for ten minutes, five
frames a second.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import harness
from benchmarks.run_parts.sluice_run import Run, sluice_run
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS, Case, street
from benchmarks.tracks_video_parts.looped import looped
from benchmarks.tracks_video_parts.scores import accepted, agreement, answers, flicker, looks_per_track, right

NODE, AREA = "type", "area >= 0.002"
ALONE = {"specialize": False, "caches": False}
"""The network alone answers."""
MODES: Mapping[str, Mapping[str, Any]] = {
    "per look": {"answer": "look", **ALONE},
    "per track": {"answer": "track", **ALONE},
    "per track, specialised": {"answer": "track", "specialize": True, "caches": False},
}
REFERENCES = {"per look": "per look", "per track": "per look", "per track, specialised": "per track"}
"""What the agreement is measured against."""
DETECTORS: Mapping[str, Mapping[str, Any]] = {
    "motion": {"model": "motion"},
    "yolox-nano": {"model": "yolox-nano", "min_confidence": 0.3},
}
LIGHTS = {"day": tuple(range(31, 38)), "night": tuple(range(41, 46))}
STREET_S = 20.0
LONG_S, LONG_FPS = 600.0, 5.0
FRAMES = 200
"""So many of a clip are shown, unless all are."""
BOTH = ("street level", "street day 31")
"""What is shown with the boxes of both detectors."""
QUICK_FRAMES = 60


def measure(quick: bool) -> harness.Outcome:
    """All cases in all modes by turns; ``quick``: the beginning of a clip."""
    with tempfile.TemporaryDirectory(prefix="sluice-tracks-") as scratch:
        folder = Path(scratch)
        shown = _cases(folder, quick)
        if not quick:
            models("yolox-nano", folder / "models")
        rows = [row for case in shown for row in _rows(case, folder)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """The figures of ``per track``; the ratios of processor time to ``per look`` are of specialised runs too."""
    tracked = [row for row in rows if row["mode"] == "per track"]
    ratios = [row["cpu_ratio"] for row in rows if row["mode"] != "per look"]
    gains = [row["right"] - row["right_per_look"] for row in tracked if row["right"] != ""]
    return {
        "flicker": max(row["flicker"] for row in tracked),
        "oracle_runs_ratio": round(sum(row["looks"] for row in tracked) / sum(row["objects"] for row in tracked), 4),
        "cpu_ratio_worst": max(ratios),
        "cpu_ratio_geomean": round(math.exp(fmean(math.log(ratio) for ratio in ratios)), 4),
        "accuracy_gain": round(fmean(gains), 4) if gains else None,
    }


def _cases(folder: Path, quick: bool) -> Sequence[Case]:
    clips = {name: VIDEOS / file for name, file in CLIPS.items()}
    if quick:
        return [Case("persons, bicycles, cars", "motion", clips["persons, bicycles, cars"], limit=QUICK_FRAMES)]
    streets = {
        f"street {light} {seed}": street(folder, seed, light, STREET_S)
        for light, seeds in LIGHTS.items()
        for seed in seeds
    }
    return [
        *(Case(name, boxes, video, limit=FRAMES) for name, video in clips.items() for boxes in _boxes(name)),
        *(Case(name, boxes, *files) for name, files in streets.items() for boxes in _boxes(name)),
        *(Case(f"{name}, ten minutes", "yolox-nano", *_long(folder, clip)) for name, clip in clips.items()),
    ]


def _long(folder: Path, clip: Path) -> tuple[Path, None, int, float]:
    """The rest of a case that shows a clip for ten minutes."""
    return looped(folder, clip, LONG_S), None, round(LONG_S * LONG_FPS), LONG_FPS


def _boxes(name: str) -> Sequence[str]:
    """Which detectors' boxes a video is shown with."""
    return list(DETECTORS) if name in BOTH else ["motion"]


def _rows(case: Case, folder: Path) -> Iterable[harness.Row]:
    found = {mode: runs[0] for mode, runs in harness.interleaved(_variants(case, folder), 1).items()}
    given = {mode: answers(run.lines) for mode, run in found.items()}
    truth, base = case.read_truth(), found["per look"]
    single = right(given["per look"], truth) if truth is not None else []
    for mode, run in found.items():
        said = given[mode]
        known = right(said, truth) if truth is not None else []
        row = {
            "video": case.name,
            "boxes": case.boxes,
            "mode": mode,
            "frames": len(run.lines),
            "objects": len(said),
            "tracks": len({each.track for each in said if each.track is not None}),
            "looks": sum(each.looked for each in said),
            "looks_per_track": round(looks_per_track(said), 2),
            "flicker": round(flicker(said), 4),
            "right": _mean([is_right for _, is_right in known]),
            "right_per_look": _mean([is_right for _, is_right in single]),
            "stated": _mean([each.confidence for each, _ in known]),
            "flicker_sure": round(flicker(map(accepted, said)), 4),
            "named_sure": _mean([accepted(each) is each for each, _ in known]),
            "right_sure": _mean([is_right for each, is_right in known if accepted(each) is each]),
            "agreement": round(agreement(said, given[REFERENCES[mode]]), 4),
            "node_s": round(run.node_s(NODE), 2),
            "cpu_s": round(run.cpu_s, 2),
            "cpu_ratio": round(run.cpu_s / base.cpu_s, 3),
        }
        print(row, file=sys.stderr)
        yield row


def _variants(case: Case, folder: Path) -> Mapping[str, Callable[[], Run]]:
    return {mode: partial(_run, case, mode, folder) for mode in MODES}


def _run(case: Case, mode: str, folder: Path) -> Run:
    options = ["--models", str(folder / "models")] if case.boxes != "motion" else []
    options += ["--limit", str(case.limit)] if case.limit else []
    return sluice_run(folder, _query(case, mode), *options)


def _query(case: Case, mode: str) -> Mapping[str, Any]:
    stream = {"id": "camera", "uri": str(case.video.resolve())}
    return {
        "version": 1,
        "name": "tracks-video",
        "slo_ms": 60_000,
        "streams": [stream if case.fps is None else {**stream, "sample": {"fps": case.fps}}],
        "nodes": [
            {"name": "detect", "task": "detect", **DETECTORS[case.boxes]},
            {"name": "track", "task": "track", "input": "detect"},
            {
                **MODES[mode],
                "name": NODE,
                "task": "recognise",
                "input": f"track[{AREA}]",
                "model": "vehicle-type",
                "min_confidence": 0,
            },
        ],
    }


def _mean(values: Sequence[float]) -> float | str:
    return round(fmean(values), 4) if values else ""


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots(1, 4, sharey=True)
    names = list(dict.fromkeys(f"{row['video']}, {row['boxes']}" for row in rows))
    keys = {"flicker": "flicker", "looks_per_track": "looks per track", "right": "right", "cpu_ratio": "processor time"}
    for ax, (key, title) in zip(axes, keys.items(), strict=True):
        for place, mode in enumerate(MODES):
            values = [(f"{row['video']}, {row['boxes']}", row[key]) for row in rows if row["mode"] == mode]
            shown = [(names.index(name) + 0.27 * place, value) for name, value in values if value != ""]
            ax.barh([at for at, _ in shown], [value for _, value in shown], 0.26, label=mode)
        ax.set_title(title, fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    axes[3].axvline(1.0, color="grey", linewidth=0.8)
    axes[1].set_xscale("log")
    axes[0].set_yticks([row + 0.27 for row in range(len(names))], names, fontsize=7)
    axes[0].invert_yaxis()
    axes[0].legend(frameon=False, fontsize=6)


if __name__ == "__main__":
    harness.run("tracks_video", measure, __doc__ or "")
