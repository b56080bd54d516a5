"""Our tracker beside norfair, the one that it replaced, on the generated street, whose truth is known.

Each street is seen at 5 and at 25 frames/s, by day and at night, with three kinds of boxes: true ones made as bad as a
poor detector's, and those that the product's detectors ``motion`` and ``yolox-nano`` report. Both trackers have the
query's default settings and are told the same time. ``ms_per_frame`` is processor time of ``update`` alone, the least
of the rounds.

norfair needs a NumPy below 2, so it runs in an environment of its own, whose interpreter is named by the variable
``SLUICE_BASELINE_PYTHON``: ``python3 -m venv DIR && DIR/bin/pip install norfair 'numpy<2' msgspec av pydantic pyyaml
psutil opencv-python-headless``. Boxes are kept in ``.cache/tracking``; remove them to have them made anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from benchmarks.harness import Outcome, Row, interleaved, run
from benchmarks.tracking_parts.play import Played
from benchmarks.tracking_parts.recordings import DETECTORS, MADE, Moment, Street, recorded
from benchmarks.tracking_parts.scores import score

ROOT = Path(__file__).resolve().parents[1]
SEEDS, LIGHTS, RATES, DURATION_S, ROUNDS = (21, 22, 23), ("day", "night"), (5, 25), 30.0, 2
COUNTED = ("objects", "id_switches", "fragmentations", "misses", "false_positives")


def measure(quick: bool) -> Outcome:
    """Rows: one per street, rate, kind of boxes and tracker; ``quick``: one street by day with boxes that were made."""
    seeds, lights = (SEEDS[:1], LIGHTS[:1]) if quick else (SEEDS, LIGHTS)
    kinds = (MADE,) if quick else (MADE, *DETECTORS)
    rows = [
        row
        for seed, light, fps, boxes in product(seeds, lights, RATES, kinds)
        for row in _rows(Street(seed, light, fps, DURATION_S), boxes, 1 if quick else ROUNDS)
    ]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """By rate and kind of boxes: means of MOTA, IDF1 and time, sums of id switches; ours first, then norfair's."""
    cases = dict.fromkeys((row["fps"], row["boxes"]) for row in rows)
    return {
        f"{boxes}, {fps} fps": {
            key: [_over(rows, fps, boxes, tracker, key) for tracker in dict.fromkeys(row["tracker"] for row in rows)]
            for key in ("mota", "idf1", "id_switches", "ms_per_frame")
        }
        for fps, boxes in cases
    }


def _over(rows: Sequence[Row], fps: int, boxes: str, tracker: str, key: str) -> float:
    found = [row[key] for row in rows if (row["fps"], row["boxes"], row["tracker"]) == (fps, boxes, tracker)]
    return sum(found) if key == "id_switches" else round(fmean(found), 4)


def trackers() -> Mapping[str, str]:
    """The interpreter of each tracker; norfair only where there is one."""
    baseline = os.environ.get("SLUICE_BASELINE_PYTHON")
    if baseline is None:
        print("SLUICE_BASELINE_PYTHON names no interpreter with norfair: our tracker runs alone", file=sys.stderr)
    return {"own": sys.executable} | ({} if baseline is None else {"norfair": baseline})


def _rows(street: Street, boxes: str, rounds: int) -> list[Row]:
    moments = recorded(street, boxes)
    variants: dict[str, Callable[[], Played]] = {
        name: partial(_play, name, python, moments) for name, python in trackers().items()
    }
    return [_row(street, boxes, name, moments, played) for name, played in interleaved(variants, rounds).items()]


def _play(tracker: str, python: str, moments: Sequence[Moment]) -> Played:
    with tempfile.TemporaryDirectory() as folder:
        given, answered = Path(folder) / "moments.json", Path(folder) / "played.json"
        given.write_bytes(msgspec.json.encode(moments))
        command = [python, "-m", "benchmarks.tracking_parts.play", tracker, str(given), str(answered)]
        subprocess.run(command, check=True, cwd=ROOT)
        return msgspec.json.decode(answered.read_bytes(), type=Played)


def _row(street: Street, boxes: str, tracker: str, moments: Sequence[Moment], played: Sequence[Played]) -> Row:
    found = score(moments, played[0].numbers)
    return {
        "boxes": boxes,
        "fps": street.fps,
        "light": street.light,
        "seed": street.seed,
        "tracker": tracker,
        "frames": len(moments),
        "boxes_per_frame": round(fmean(len(moment.found) for moment in moments), 2),
        **{key: int(found[key]) for key in COUNTED},
        "mota": round(found["mota"], 4),
        "idf1": round(found["idf1"], 4),
        "ms_per_frame": round(1000 * min(one.cpu_s for one in played) / len(moments), 4),
    }


def _draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots(2, 2).ravel()
    cases = list(dict.fromkeys((row["fps"], row["boxes"]) for row in rows))
    names = list(dict.fromkeys(row["tracker"] for row in rows))
    titles = {"mota": "MOTA", "idf1": "IDF1", "id_switches": "id switches", "ms_per_frame": "ms per frame"}
    for place, (key, title) in zip(axes, titles.items(), strict=True):
        for number, name in enumerate(names):
            values = [_over(rows, fps, boxes, name, key) for fps, boxes in cases]
            place.barh([i + 0.4 * number for i in range(len(cases))], values, height=0.38, label=name)
        place.set_yticks(
            [i + 0.2 for i in range(len(cases))], [f"{boxes}, {fps}/s" for fps, boxes in cases], fontsize=7
        )
        place.set_title(title, fontsize=9)
    axes[0].legend(fontsize=8)


if __name__ == "__main__":
    run("tracking", measure, __doc__ or "")
