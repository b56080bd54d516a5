"""On which frames a detector must run: our rules beside every n-th frame and beside a motion gate, on real clips.

The detector, ``yolox-nano``, runs once on every frame of the beginning of each clip; each rule is then replayed with
what it found. ``detected`` is the share of frames on which a rule would have run it. ``agreement`` is that with the
detector's own answer for each frame, in which objects within .15 of its least confidence count only where both have
them; ``recall`` and ``precision`` count all. ``needed`` decides about each frame as it comes, ``look-ahead`` about
those that wait. ``own_ms`` is processor time of the rule for one frame, thumbnail and
optical flow included, ``detector_ms`` that of the detector.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import cv2
import numpy as np

from benchmarks.harness import Outcome, Row, run
from benchmarks.skipping_parts.recorded import answers, frames
from benchmarks.skipping_parts.replay import PACES, RULES, SETTINGS, replay
from benchmarks.tracking_parts.recordings import models
from operators.detect.agreement import UNSURE

VIDEOS = Path(os.environ.get("SLUICE_DATA", "../shared/data")) / "videos"
CLIPS = {
    "people": "one-by-one-person-detection.mp4",
    "car park": "car-detection.mp4",
    "crossing": "person-bicycle-car-detection.mp4",
    "bottles": "bottle-detection.mp4",
    "street level": "street-level.mp4",
}
FRAMES, QUICK_FRAMES = 400, 60
"""So many frames at the beginning of each clip."""
MODEL, LEAST = "yolox-nano", 0.3
FIRST_PACE = 3


def measure(quick: bool) -> Outcome:
    """One row for each clip, rule and setting; ``quick``: the beginning of one clip."""
    cv2.setNumThreads(1)
    shown = dict(list(CLIPS.items())[1:2]) if quick else CLIPS
    with tempfile.TemporaryDirectory(prefix="sluice-skipping-") as scratch:
        folder = models(MODEL, Path(scratch) / "models")
        rows = [row for name in shown for row in _rows(name, folder, QUICK_FRAMES if quick else FRAMES)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Our rule at its first pace, and how much better it agrees than every n-th frame does with as many detections."""
    ours = [row for row in rows if row["rule"] == "needed" and row["setting"] == FIRST_PACE]
    return {
        "detected": {row["clip"]: row["detected"] for row in ours},
        "agreement": {row["clip"]: row["agreement"] for row in ours},
        "agreement_gained": round(fmean(row["agreement"] - _every_nth(rows, row) for row in ours), 4),
        "ahead": {row["clip"]: [row["detected"], row["agreement"]] for row in rows if _is_ahead(row)},
        "own_share": round(max(row["own_ms"] / row["detector_ms"] for row in ours), 4),
    }


def _is_ahead(row: Row) -> bool:
    return row["rule"] == "look-ahead" and bool(row["setting"] == FIRST_PACE)


def _every_nth(rows: Sequence[Row], ours: Row) -> float:
    """The agreement of every n-th frame at the share of frames of our rule, between its settings."""
    curve = [(row["detected"], row["agreement"]) for row in rows if (row["clip"], row["rule"]) == _plain(ours)]
    shares, agreements = zip(*sorted([*curve, (1.0, 1.0)]), strict=True)
    return float(np.interp(ours["detected"], shares, agreements))


def _plain(row: Row) -> tuple[Any, str]:
    return row["clip"], "every n-th"


def _rows(name: str, folder: Path, most: int | None) -> Iterator[Row]:
    clip = VIDEOS / CLIPS[name]
    known, detector_s = answers(clip, most, folder, MODEL)
    shown, sure = list(frames(clip, most)), LEAST + UNSURE
    for rule, made in RULES.items():
        for setting in SETTINGS.get(rule, PACES):
            figures = replay(shown, known, made(setting)(shown, sure), sure)
            row = {"clip": name, "rule": rule, "setting": setting, "frames": len(known), **figures}
            print(row, flush=True)
            yield {**row, "detector_ms": round(1000 * detector_s, 2)}


def _draw(rows: Sequence[Row], figure: Any) -> None:
    clips = list(dict.fromkeys(row["clip"] for row in rows))
    for axes, clip in zip(np.atleast_1d(figure.subplots(1, len(clips), sharey=True)), clips, strict=True):
        for rule, marker in zip(RULES, "os^d", strict=True):
            of = sorted(
                (row["detected"], row["agreement"]) for row in rows if (row["clip"], row["rule"]) == (clip, rule)
            )
            axes.plot(*zip(*of, strict=True), marker=marker, markersize=4, linewidth=1, label=rule)
        axes.set(title=clip, xlabel="detected", xlim=(0, 1))
        axes.grid(alpha=0.3)
    figure.axes[0].set(ylabel="agreement with the detector on every frame")
    figure.axes[-1].legend(fontsize=7)


if __name__ == "__main__":
    run("skipping", measure, __doc__)
