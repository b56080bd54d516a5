"""What ``detail: auto`` makes of what ``when: needed`` saves: small objects found, and processor time.

The frames of each clip, five a second, go through a detect node with ``yolox-nano`` that decides live, by turns:
``square`` runs the network on its own input on every frame, ``needed, 416`` in the camera's shape where it is needed,
at the same scale, and ``needed, auto`` as wide as that pays for. ``small_recall`` is the share of objects below 1 % of
the frame that are published, of those of which the network is sure at the clip's full width or as published.
``cpu_ms`` is processor time of the whole process for a frame, audits included; ``ratio`` the median of what it is in
a round of what ``square`` takes. Both are of the second half of the frames: in the first, ``first_ms``, wider networks
are loaded. ``detected`` is the share of frames that were detected, ``detail`` the longer side that the network was
shown at the end, ``load`` what else the machine did (its load average) when the last round ended.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import av
import cv2
import numpy as np

from benchmarks.harness import Outcome, Row, interleaved, run
from benchmarks.shapes import CLIPS, DATA, SQUARE, SURE
from benchmarks.shapes_parts.same import merged, recall
from benchmarks.shapes_parts.ways import FAINT, MODEL, Node, Way
from benchmarks.tracking_parts.recordings import models
from operators.base import ask
from operators.detect.detail.dial import AutoDetail
from operators.detect.needed.needed_stream import SkipTerms
from operators.detect.needed.operator import DetectWhenNeeded
from operators.detect.onnx import OnnxDetector, Reported
from operators.frames.frame import Frame, Region, frame_of
from operators.frames.planes import Planes
from operators.testing.builders import call
from operators.wire.schema import FrameId
from pipelines.environment import catalogue
from serving.backend import Backend
from serving.catalogue.cards import ModelCard
from serving.scheduling.limits import NetworkBounds

SHOWN = ("crossing", "crossing, 1280 × 720", "street level")
FPS, ACCURACY = 5, 0.9
FRAMES, QUICK_FRAMES, ROUNDS, QUICK_ROUNDS = 400, 120, 3, 1
LEAST_S = 0.02
"""Time between frames: audits and loading go on meanwhile."""
EVERY, NEEDED, AUTO = "square", "needed, 416", "needed, auto"


class Squares(Backend):
    """Shows networks their own input alone."""

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        return self.card(model)


class Played(NamedTuple):
    """The outcome of one way on a clip."""

    found: Sequence[Sequence[Region]]
    first_s: float
    second_s: float
    detected: float
    detail: int


def measure(quick: bool) -> Outcome:
    """One row for each clip and way; ``quick``: the beginning of one clip, once."""
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory(prefix="sluice-detail-") as scratch:
        folder = models(MODEL, Path(scratch) / "models")
        rows = [row for clip in SHOWN[: 1 if quick else None] for row in _rows(clip, folder, quick)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """By clip: small objects found by each way, and what the other two take of the square's time."""
    by = {(row["clip"], row["way"]): row for row in rows}
    clips = dict.fromkeys(row["clip"] for row in rows)
    return {
        "small_recall": {clip: [by[clip, way]["small_recall"] for way in (EVERY, NEEDED, AUTO)] for clip in clips},
        "ratio": {clip: [by[clip, way]["ratio"] for way in (NEEDED, AUTO)] for clip in clips},
    }


def _rows(clip: str, folder: Path, quick: bool) -> Iterator[Row]:
    frames = list(islice(_frames(clip), QUICK_FRAMES if quick else FRAMES))
    half = len(frames) // 2
    wide = Node(Way("widest", frames[0].width // 32 * 32, fits=True, simpler=True), folder).found(frames[half:])
    wanted = merged(wide, Node(SQUARE, folder).found(frames[half:]), SURE)
    ways = {way: partial(_played, way, frames, folder) for way in (EVERY, NEEDED, AUTO)}
    rounds = interleaved(ways, QUICK_ROUNDS if quick else ROUNDS)
    for way, played in rounds.items():
        ratios = [each.second_s / square.second_s for each, square in zip(played, rounds[EVERY], strict=True)]
        row = {
            "clip": clip,
            "way": way,
            "frames": len(frames),
            "small_recall": round(median(recall(each.found[half:], wanted) for each in played), 3),
            "cpu_ms": round(1e3 * median(each.second_s for each in played) / (len(frames) - half), 2),
            "ratio": round(median(ratios), 3),
            "first_ms": round(1e3 * median(each.first_s for each in played) / half, 2),
            "detected": round(median(each.detected for each in played), 3),
            "detail": median(each.detail for each in played),
            "load": round(os.getloadavg()[0], 1),
        }
        print(row, flush=True)
        yield row


def _played(way: str, frames: Sequence[Frame], models: Path) -> Played:
    return asyncio.run(_play(way, frames, models))


async def _play(way: str, frames: Sequence[Frame], models: Path) -> Played:
    kind = Squares if way == EVERY else Backend
    engine = kind(catalogue([models]), bounds=NetworkBounds(threads=1), artefacts_dir=models.parent / "cache")
    await engine.start()
    try:
        detector = OnnxDetector(engine, "detect", [MODEL], Reported(min_confidence=FAINT))
        await detector.prepare()
        if way == EVERY:
            return await _run(detector, frames)
        terms = SkipTerms(ACCURACY, FAINT, engine, detail=AutoDetail() if way == AUTO else None)
        needed = DetectWhenNeeded("detect", detector, MODEL, terms)
        played = await _run(needed, frames)
        await needed.close(10.0)
        return played
    finally:
        await engine.stop()


async def _run(operator: OnnxDetector | DetectWhenNeeded, frames: Sequence[Frame]) -> Played:
    found, took_s, detected, detail = list[list[Region]](), list[float](), 0, 416
    for frame in frames:
        started_s = time.process_time()
        answer = await ask(operator, frame, (), call(MODEL))
        if isinstance(operator, DetectWhenNeeded):
            operator.published(frame.header.id)
        await asyncio.sleep(LEAST_S)
        took_s.append(time.process_time() - started_s)
        found.append(list(answer.regions))
        detected, detail = detected + (not answer.skipped), answer.detail or detail
    half = len(frames) // 2
    return Played(found, sum(took_s[:half]), sum(took_s[half:]), detected / len(frames), detail)


def _frames(clip: str) -> Iterator[Frame]:
    file, change = CLIPS[clip]
    with av.open(str(DATA / "videos" / file)) as container:
        step = round(float(container.streams.video[0].average_rate or FPS) / FPS)
        for number, picture in enumerate(islice(container.decode(video=0), 0, None, step)):
            image = change(picture.to_ndarray(format="bgr24"))
            planes = Planes(np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), np.uint8), "yuv601")
            yield frame_of(FrameId("clip", "run", number), planes, number / FPS)


def _draw(rows: Sequence[Row], figure: Any) -> None:
    clips = list(dict.fromkeys(row["clip"] for row in rows))
    found, cost = figure.subplots(1, 2)
    for place, way in enumerate((EVERY, NEEDED, AUTO)):
        of = [row for row in rows if row["way"] == way]
        spots = [n + 0.27 * (place - 1) for n in range(len(clips))]
        found.bar(spots, [row["small_recall"] for row in of], 0.25, label=way)
        cost.bar(spots, [row["ratio"] for row in of], 0.25)
    found.set(ylabel="small objects found", ylim=(0, 1))
    cost.set(ylabel="processor time, of the square's on every frame")
    for axes in (found, cost):
        axes.set_xticks(range(len(clips)))
        axes.set_xticklabels(clips, fontsize=7)
    found.legend(fontsize=7)


if __name__ == "__main__":
    run("detail", measure, __doc__)
