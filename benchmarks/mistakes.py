"""What goes wrong where a detector is skipped: the rules of ``when: needed`` beside every third frame, on real clips.

``yolox-nano`` runs once on every frame; each rule is replayed with what it has found, at its first pace. On the frames
that a rule skips, objects that it and the detector do not share (same label, IoU ≥ .5) are counted by what is wrong:

``unsure``  its confidence is within .15 of the detector's least, where the detector itself is not steady
``moved``   there is one of that label which overlaps too little: it lags behind, or ran ahead
``named``   there is one of another label in the same place
``missed``  there is nothing: it is new, or it was lost
``stale``   one is shown where the detector finds nothing: it has left, or the detector overlooks it for a moment

Shares are those of the objects that the detector finds on skipped frames.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2

from benchmarks.harness import Outcome, Row, run
from benchmarks.skipping import CLIPS, FIRST_PACE, FRAMES, LEAST, MODEL, QUICK_FRAMES, VIDEOS
from benchmarks.skipping_parts.recorded import answers, copies, frames
from benchmarks.skipping_parts.replay import RULES, Rule
from benchmarks.tracking_parts.recordings import models
from operators.detect.agreement import UNSURE
from operators.detect.needed.matching import matched_pairs
from operators.frames.frame import Frame, Region
from operators.zones.geometry import overlap

SURE = LEAST + UNSURE
COMPARED = ("every n-th", "needed", "look-ahead")
KINDS = ("unsure", "moved", "named", "missed", "stale")
NEAR = 0.1
"""Boxes that overlap so much are of the same object."""
SAME_PLACE = 0.5


def measure(quick: bool) -> Outcome:
    """One row for each clip and rule; ``quick``: the beginning of one clip."""
    cv2.setNumThreads(1)
    shown = list(CLIPS)[-1:] if quick else list(CLIPS)
    with tempfile.TemporaryDirectory(prefix="sluice-mistakes-") as scratch:
        folder = models(MODEL, Path(scratch) / "models")
        rows = [row for name in shown for row in _rows(name, folder, QUICK_FRAMES if quick else FRAMES)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Shares over all clips, by rule."""
    found: dict[str, Any] = {}
    for rule in COMPARED:
        mine = [row for row in rows if row["rule"] == rule]
        objects = max(1, sum(row["objects"] for row in mine))
        found[rule] = {kind: round(sum(row[kind] for row in mine) / objects, 4) for kind in KINDS}
    return found


def mistakes(wanted: Sequence[Region], found: Sequence[Region]) -> Counter[str]:
    """Count what one frame's objects, as they are published, have wrong."""
    pairs = matched_pairs(wanted, found)
    missing = [each for place, each in enumerate(wanted) if place not in {i for i, _ in pairs}]
    extra = [each for place, each in enumerate(found) if place not in {j for _, j in pairs}]
    wrong: Counter[str] = Counter()
    for each in missing:
        near = [other for other in extra if overlap(each.box, other.box) >= NEAR]
        wrong[_kind(each, near)] += 1
    for each in extra:
        if all(overlap(each.box, other.box) < NEAR for other in missing):
            wrong["unsure" if each.confidence < SURE else "stale"] += 1
    return wrong


def _kind(missing: Region, near: Sequence[Region]) -> str:
    if missing.confidence < SURE:
        return "unsure"
    if any(other.label == missing.label for other in near):
        return "moved"
    if any(overlap(missing.box, other.box) >= SAME_PLACE for other in near):
        return "named"
    return "missed"


def _rows(name: str, folder: Path, most: int | None) -> Iterator[Row]:
    clip = VIDEOS / CLIPS[name]
    known, _ = answers(clip, most, folder, MODEL)
    shown = list(frames(clip, most))
    for rule in COMPARED:
        skipped, objects, wrong = _replayed(shown, known, RULES[rule](FIRST_PACE)(shown, SURE))
        row = {"clip": name, "rule": rule, "frames": len(shown), "skipped": skipped, "objects": objects}
        yield {**row, **{kind: wrong[kind] for kind in KINDS}}


def _replayed(shown: Sequence[Frame], known: Sequence[list[Region]], rule: Rule) -> tuple[int, int, Counter[str]]:
    """Frames that were skipped, objects that the detector would have found there, and mistakes."""
    skipped = objects = 0
    wrong: Counter[str] = Counter()
    for frame, truth in zip(shown, known, strict=True):
        regions, detected = rule.answer(frame, lambda each: copies(known[each.seq]))
        if detected:
            continue
        skipped, objects = skipped + 1, objects + len(truth)
        wrong += mistakes(truth, regions)
    return skipped, objects, wrong


def _draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots(1, len(COMPARED), sharey=True)
    for rule, plot in zip(COMPARED, axes, strict=True):
        mine = [row for row in rows if row["rule"] == rule]
        left = [0.0] * len(mine)
        for kind in KINDS:
            shares = [row[kind] / max(1, row["objects"]) for row in mine]
            plot.barh([row["clip"] for row in mine], shares, left=left, label=kind)
            left = [before + share for before, share in zip(left, shares, strict=True)]
        plot.set_title(rule, fontsize=8)
        plot.set_xlabel("share of the objects on skipped frames")
    axes[-1].legend(fontsize=7)


if __name__ == "__main__":
    run("mistakes", measure, __doc__ or "")
