"""What a whole pipeline costs: a plain loop, Sluice with nothing on, each saving alone, and all of them together.

Each video is analysed by ``sluice run`` (``yolox-nano``, a tracker, ``vehicle-type``), in a process of its own, at its
own rate and some at 5 frames a second, for ``--frames`` frames; short clips are shown again and again, at 5 frames a
second also for ten minutes, as a camera that sees the same for hours. ``cpu_s`` is processor time of the whole process,
``start_s`` that of a run over one frame, and ``cpu_ms`` what each further frame takes, decoding of frames that are not
analysed included. ``ratio`` is how many times less ``cpu_ms`` is than the plain loop's, ``run_ratio`` the same of
``cpu_s``; ``detected`` the share of the frames on which the detector ran.
The runs:

``plain``        a loop over decoder, networks and tracker: every frame, every object
``nothing on``   the same by Sluice: ``when: always``, ``answer: look``, ``specialize: false``, ``caches: false``
``needed``       ``when: needed``
``specialised``  ``specialize: true``
``per track``    ``answer: track``
``all on``       ``when: needed``, and everything else at its default

``objects`` is the agreement of the objects with those of ``nothing on`` (in each frame: matched / all; unmatched
objects within .15 of the least confidence are left out, and in ``objects_raw`` they are not); ``objects_ceiling`` is
how far ``nothing on`` itself agrees, in the manner of ``objects_raw``, with what it says in most of five frames, and
``objects_relative`` is ``objects_raw`` as a share of that. ``attributes`` is the agreement of what objects are called
with the run that answers in the same manner and has nothing else on, where that is sure enough to name them (in
``attributes_raw`` the others count too); ``ceiling`` is how far ``per track`` agrees with itself in that, begun three
frames later, over 300 frames at most; ``truth_f1`` compares boxes with the street's true ones.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import harness
from benchmarks.run_parts.sluice_run import processor_s, sluice_run
from benchmarks.tracking_parts.recordings import BoxTuple, models
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS, street
from benchmarks.tracks_video_parts.cases import FPS as STREET_FPS
from benchmarks.tracks_video_parts.looped import looped
from benchmarks.whole_parts.compared import Lines, attribute_agreement, object_agreement, truth_f1
from benchmarks.whole_parts.later import begun_later
from benchmarks.whole_parts.plain import DETECTOR, LEAST, LEAST_AREA, RECOGNISER
from benchmarks.whole_parts.stabilised import stabilised
from operators.detect.agreement import UNSURE

ALONE = {"specialize": False, "caches": False}
"""The recogniser's network alone answers."""
MODES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "nothing on": ({}, {"answer": "look", **ALONE}),
    "needed": ({"when": "needed"}, {"answer": "look", **ALONE}),
    "specialised": ({}, {"answer": "look", "specialize": True, "caches": False}),
    "per track": ({}, {"answer": "track", **ALONE}),
    "all on": ({"when": "needed"}, {"answer": "track"}),
}
"""What is added to the node that detects, and to the one that recognises."""
PLAIN, OFF, TRACKED, ALL = "plain", "nothing on", "per track", "all on"
LONG_MODES = (OFF, TRACKED, ALL)
LONG_S = 600.0
LATER = 3
"""Frames that the run for the ceiling leaves out at the beginning."""
SLOW_FPS, SLOW = 5.0, ("persons one by one", "street level")
"""At which rate some videos are shown again, and which."""
STREETS = {"street day": (31, "day"), "street night": (41, "night")}
FRAMES, QUICK_FRAMES = 300, 30


@dataclass(frozen=True)
class Case:
    """A video that is analysed at some rate."""

    name: str
    video: Path
    fps: float
    frames: int
    """So many are analysed."""
    truth: Sequence[Sequence[BoxTuple]] | None = None
    sampled: bool = False
    """Whether the video has more frames than are analysed."""
    modes: Sequence[str] = tuple(MODES)


def measure(quick: bool, frames: int = FRAMES) -> harness.Outcome:
    """All cases in all modes by turns; ``quick``: the beginning of one clip."""
    frames = QUICK_FRAMES if quick else frames
    with tempfile.TemporaryDirectory(prefix="sluice-whole-") as scratch:
        folder = Path(scratch)
        models(DETECTOR, folder / "models")
        cases = (
            _clips(folder, frames, SLOW[:1])
            if quick
            else [*_clips(folder, frames, CLIPS), *_streets(folder, frames), *_long(folder)]
        )
        rows = [row for case in cases for row in _rows(case, folder)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """Everything on against the plain loop, by video and rate."""
    shown = [row for row in rows if row["mode"] == ALL]
    clips = {
        f"{row['video']}, {row['fps']}": {
            "cpu_ratio": row["ratio"],
            "object_agreement": row["objects"],
            "object_relative": row["objects_relative"],
            "attribute_agreement": row["attributes"],
            "attribute_ceiling": row["ceiling"],
        }
        for row in shown
    }
    off = [row["ratio"] for row in rows if row["mode"] == OFF]
    return {"clips": clips, "geomean": _geomean([row["ratio"] for row in shown]), "nothing_on": _geomean(off)}


def _clips(folder: Path, frames: int, names: Iterable[str]) -> Iterable[Case]:
    for name in names:
        rate = _rate(VIDEOS / CLIPS[name])
        if name in SLOW:
            yield Case(name, looped(folder, VIDEOS / CLIPS[name], frames / SLOW_FPS), SLOW_FPS, frames, sampled=True)
        yield Case(name, looped(folder, VIDEOS / CLIPS[name], frames / rate), rate, frames)


def _long(folder: Path) -> Iterable[Case]:
    for name, clip in CLIPS.items():
        video, frames = looped(folder, VIDEOS / clip, LONG_S), round(LONG_S * SLOW_FPS)
        yield Case(f"{name}, ten minutes", video, SLOW_FPS, frames, sampled=True, modes=LONG_MODES)


def _streets(folder: Path, frames: int) -> Iterable[Case]:
    for name, (seed, light) in STREETS.items():
        video, truth = street(folder, seed, light, frames / STREET_FPS)
        lines = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
        boxes = [[tuple(one["box"]) for one in line["objects"]] for line in lines]
        yield Case(name, video, STREET_FPS, frames, boxes)


def _rows(case: Case, folder: Path) -> Iterable[harness.Row]:
    found = {mode: runs[0] for mode, runs in harness.interleaved(_variants(case, folder), 1).items()}
    plain, lines = found[PLAIN], {mode: run["lines"] for mode, run in found.items() if mode != PLAIN}
    ceiling = _ceiling(case, lines[TRACKED], folder)
    objects_ceiling = object_agreement(stabilised(lines[OFF]), lines[OFF], 0.0)
    for mode, run in found.items():
        row = _row(case, mode, len(lines[OFF]), run, plain)
        told = {} if mode == PLAIN else _agreements(case, mode, lines, objects_ceiling)
        if MODES.get(mode, MODES[OFF])[1]["answer"] == "track":
            told["ceiling"] = ceiling
        yield _told(row | told)


def _ceiling(case: Case, lines: Lines, folder: Path) -> float | str:
    """How far answers for tracks agree with those of a run that begins later."""
    frames, step = min(case.frames, FRAMES), _rate(case.video) / case.fps
    video = begun_later(folder, case.video, round(LATER * step), round((frames - LATER) * step) + 1)
    run = _run(replace(case, video=video, frames=frames - LATER), TRACKED, folder)
    count = min(len(run["lines"]), len(lines) - LATER)
    found = attribute_agreement(lines[LATER : LATER + count], run["lines"][:count], sure=True)
    return "" if found is None else round(found, 4)


def _told(row: Mapping[str, Any]) -> Mapping[str, Any]:
    print(row, file=sys.stderr, flush=True)
    return row


def _row(case: Case, mode: str, frames: int, run: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    cpu_ms, plain_ms = (_cpu_ms(each, frames) for each in (run, plain))
    return {
        "video": case.name,
        "fps": round(case.fps, 1),
        "mode": mode,
        "frames": frames,
        "cpu_s": round(run["cpu_s"], 2),
        "start_s": round(run["start_s"], 2),
        "cpu_ms": round(cpu_ms, 2),
        "ratio": round(plain_ms / cpu_ms, 3),
        "run_ratio": round(plain["cpu_s"] / run["cpu_s"], 3),
        "cameras_per_core": round(1000 / cpu_ms / case.fps, 2),
        "detected": round(1 - run["skipped"], 3),
        "objects": "",
        "objects_raw": "",
        "objects_ceiling": "",
        "objects_relative": "",
        "attributes": "",
        "attributes_raw": "",
        "ceiling": "",
        "truth_f1": "",
    }


def _cpu_ms(run: Mapping[str, Any], frames: int) -> float:
    """For a frame after the first; what noise takes away in a short run does not make it less than nothing."""
    return max(0.01, 1000 * float(run["cpu_s"] - run["start_s"]) / (frames - 1))


def _agreements(case: Case, mode: str, lines: Mapping[str, Lines], ceiling: float) -> dict[str, Any]:
    base = TRACKED if MODES[mode][1]["answer"] == "track" else OFF
    sure, raw = (attribute_agreement(lines[base], lines[mode], sure) for sure in (True, False))
    objects = object_agreement(lines[OFF], lines[mode], 0.0)
    return {
        "objects": round(object_agreement(lines[OFF], lines[mode], LEAST + UNSURE), 4),
        "objects_raw": round(objects, 4),
        "objects_ceiling": round(ceiling, 4),
        "objects_relative": round(objects / ceiling, 4),
        "attributes": "" if sure is None else round(sure, 4),
        "attributes_raw": "" if raw is None else round(raw, 4),
        "truth_f1": "" if case.truth is None else round(truth_f1(case.truth, lines[mode]), 4),
    }


def _variants(case: Case, folder: Path) -> Mapping[str, Any]:
    return {PLAIN: partial(_plain, case, folder), **{mode: partial(_run, case, mode, folder) for mode in case.modes}}


def _plain(case: Case, folder: Path) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "benchmarks.whole_parts.plain", str(case.video), str(case.fps)]
    start_s, cpu_s = (processor_s([*command, str(folder / "models"), str(limit)]) for limit in (1, case.frames))
    return {"start_s": start_s, "cpu_s": cpu_s, "skipped": 0.0}


def _run(case: Case, mode: str, folder: Path) -> Mapping[str, Any]:
    options = ["--models", str(folder / "models"), "--limit"]
    start, run = (sluice_run(folder, _query(case, mode), *options, str(limit)) for limit in (1, case.frames))
    return {
        "start_s": start.cpu_s,
        "cpu_s": run.cpu_s,
        "skipped": sum(each["shortcut_share"] for each in run.report["audits"] if each["kind"] == "propagated"),
        "lines": run.lines,
    }


def _query(case: Case, mode: str) -> Mapping[str, Any]:
    detect, recognise = MODES[mode]
    stream = {"id": "camera", "uri": str(case.video.resolve())}
    return {
        "version": 1,
        "name": "whole",
        "slo_ms": 60_000,
        "streams": [{**stream, "sample": {"fps": case.fps}} if case.sampled else stream],
        "nodes": [
            {"name": "detect", "task": "detect", "model": DETECTOR, "min_confidence": LEAST, **detect},
            {"name": "track", "task": "track", "input": "detect"},
            {
                "name": "type",
                "task": "recognise",
                "input": f"track[area >= {LEAST_AREA}]",
                "model": RECOGNISER,
                **recognise,
            },
        ],
    }


def _rate(video: Path) -> float:
    import av

    with av.open(str(video)) as container:
        return float(container.streams.video[0].average_rate or 25)


def _geomean(values: Sequence[float]) -> float:
    return round(math.exp(fmean(map(math.log, values))), 3)


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    cost, agree = figure.subplots(1, 2, sharey=True)
    names = list(dict.fromkeys(f"{row['video']}, {row['fps']}" for row in rows))
    for place, mode in enumerate([PLAIN, *MODES]):
        of = [(names.index(f"{row['video']}, {row['fps']}"), row) for row in rows if row["mode"] == mode]
        at = [at + 0.14 * place for at, _ in of]
        cost.barh(at, [row["cpu_ms"] for _, row in of], 0.13, label=mode)
        if mode == ALL:
            agree.barh(at, [row["objects"] for _, row in of], 0.3, color="tab:blue", label="objects")
    cost.set_title("processor time for a frame, ms", fontsize=9)
    cost.set_yticks([row + 0.35 for row in range(len(names))], names, fontsize=7)
    cost.invert_yaxis()
    cost.legend(frameon=False, fontsize=6)
    agree.set(xlim=(0.8, 1.0), xticks=(0.8, 0.9, 1.0))
    agree.set_title("objects of all on that agree with nothing on", fontsize=9)
    for ax in (cost, agree):
        ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--frames", type=int, default=FRAMES)
    known, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    harness.run("whole", partial(measure, frames=known.frames), __doc__ or "")
