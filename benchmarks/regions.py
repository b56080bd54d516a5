"""Where to detect: on the whole frame, or on what moves, cut out of it.

``yolox-nano`` looks at generated streets, whose truth is known, and at real clips:

``whole``           at each frame, scaled to the network's input
``moving``          at each region of ``motion``, widened by half its size, in one batch
``moving, packed``  at all these regions laid side by side in one picture: one run, for which they must be small

``runs`` is how many pictures went through the network for a frame: its cost, since each is scaled to the same input.
``recall_…`` is the share of the true objects of a height, in pixels of the frame, that some box covers (IoU ≥ .5), of
those at least half in view; ``precision`` the share of boxes that cover one. On clips nobody knows the truth: there
``as_whole`` is the share of the objects found on the whole frame that the other way finds too, ``more`` the objects
that it finds beyond, as a share of the same.
"""

from __future__ import annotations

import asyncio
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import cv2

from benchmarks.harness import Outcome, Row, run
from benchmarks.regions_parts.looking import WAYS, Looker
from benchmarks.regions_parts.scores import HEIGHTS, Score, score
from benchmarks.skipping_parts.recorded import frames
from benchmarks.tracking_parts.recordings import models
from datasets.street import open_street
from operators.frames.frame import Box, Frame, frame_of
from operators.wire.schema import FrameId
from pipelines.environment import catalogue
from serving.backend import Backend
from serving.scheduling.limits import NetworkBounds

VIDEOS = Path(os.environ.get("SLUICE_DATA", "../shared/data")) / "videos"
CLIPS = {
    "people": "one-by-one-person-detection.mp4",
    "car park": "car-detection.mp4",
    "crossing": "person-bicycle-car-detection.mp4",
    "street level": "street-level.mp4",
}
MODEL = "yolox-nano"
SIZES = ((640, 360), (1280, 720), (1920, 1080))
SEEDS = {"day": (51, 52), "night": (61,)}
FPS, SECONDS, QUICK_SECONDS = 5, 16.0, 2.0
FRAMES = 100
"""So many frames of a clip."""
Shown = tuple[Frame, list[Box] | None]
"""A frame and the true objects in it; None where nobody knows them."""


def measure(quick: bool) -> Outcome:
    """One row for each video and way; ``quick``: one short street."""
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory(prefix="sluice-regions-") as scratch:
        folder = models(MODEL, Path(scratch) / "models")
        rows = asyncio.run(_rows(folder, quick))
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Runs for a frame on all videos; recall and precision on all streets; None where nothing was to be found."""
    keys = ("runs", *(f"recall_{name}" for name in HEIGHTS), "precision")
    found = {way: {key: _mean(rows, way, key) for key in keys} for way in WAYS}
    return {way: {key: None if math.isnan(mean) else mean for key, mean in of.items()} for way, of in found.items()}


async def _rows(folder: Path, quick: bool) -> list[Row]:
    engine = Backend(catalogue([folder]), bounds=NetworkBounds(threads=1))
    await engine.start()
    try:
        looker = Looker(engine, MODEL)
        await looker.prepare()
        return [row for name, video in _videos(quick) for row in await _looked(looker, name, video)]
    finally:
        await engine.stop()


def _videos(quick: bool) -> Iterator[tuple[str, Iterator[Shown]]]:
    for width, height in SIZES[1:2] if quick else SIZES:
        for light, seeds in SEEDS.items():
            for seed in seeds[:1] if quick else seeds:
                options = {"seed": seed, "light": light, "fps": FPS, "width": width, "height": height}
                options["duration_s"] = QUICK_SECONDS if quick else SECONDS
                yield f"street {light} {seed}, {height} lines", _street({key: str(of) for key, of in options.items()})
    for name, file in {} if quick else CLIPS.items():
        yield name, ((frame, None) for frame in frames(VIDEOS / file, FRAMES))


def _street(options: Mapping[str, str]) -> Iterator[Shown]:
    for seq, shown in enumerate(open_street(options)):
        frame = frame_of(FrameId("street", "run", seq), shown.image, shown.media_time_s)
        yield frame, [Box(*one.box) for one in shown.objects if one.visible >= 0.5]


async def _looked(looker: Looker, name: str, video: Iterator[Shown]) -> list[Row]:
    looker.begin()
    scores = {way: Score() for way in WAYS}
    for frame, truth in islice(video, FRAMES):
        found = await looker.look(frame)
        for way in WAYS:
            score(scores[way], frame, truth, found[way], found["whole"])
    return [{"video": name, "way": way, **scores[way].row()} for way in WAYS]


def _mean(rows: Sequence[Row], way: str, key: str) -> float:
    values = [row[key] for row in rows if row["way"] == way and not math.isnan(row[key])]
    return round(sum(values) / len(values), 3) if values else math.nan


def _draw(rows: Sequence[Row], figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    streets = [row for row in rows if not math.isnan(row["precision"])]
    names = sorted({row["video"] for row in rows})
    for number, way in enumerate(WAYS):
        at = [place + 0.27 * number for place in range(len(HEIGHTS))]
        left.bar(at, [_mean(streets, way, f"recall_{name}") for name in HEIGHTS], 0.27, label=way)
        mine = {row["video"]: row["runs"] for row in rows if row["way"] == way}
        right.plot([mine[name] for name in names], range(len(names)), "o", label=way)
    left.set_xticks(
        [place + 0.27 for place in range(len(HEIGHTS))], [f"{name.replace('_', ' to ')} px" for name in HEIGHTS]
    )
    left.set_title("share of the streets' objects found, by height", fontsize=8)
    right.set_yticks(range(len(names)), names, fontsize=6)
    right.set_title("runs of the network for a frame", fontsize=8)
    left.legend(fontsize=7)


if __name__ == "__main__":
    run("regions", measure, __doc__ or "")
