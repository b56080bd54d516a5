"""What ``when: needed`` costs where nearly every frame needs the detector.

``sluice run`` analyses a generated street that is full, five frames a second, and a clip whose camera shakes, with
``yolox-nano`` and a tracker: on every frame, and ``when: needed``, looking ahead and live, which
``overload: drop_oldest`` enforces; nothing is dropped. ``run_parts/side_by_side.py`` says how they are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.run_parts.side_by_side import Scene, compared, draw, headline
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from benchmarks.whole_parts.plain import DETECTOR, LEAST
from datasets.street import open_street
from datasets.video import write_mp4
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from serving.common.tensors import Image

MODES: Mapping[str, tuple[str, str]] = {
    "every frame": ("always", "block"),
    "look-ahead": ("needed", "block"),
    "live": ("needed", "drop_oldest"),
}
"""``when`` of the detector and ``overload`` of the stream."""
STREET = {"seed": "3", "density": "10", "fps": "5", "duration_s": "60"}
SHAKEN, SHAKE, FPS = "street level", 40, 25.0
"""Pixels by which the picture jumps from one frame to the next, at most, in each direction."""
FRAMES, QUICK_FRAMES, MOST_ROUNDS = 300, 30, 10
GOAL = 1.02


def measure(quick: bool) -> harness.Outcome:
    """Both scenes; ``quick``: the beginning of one, once."""
    frames, rounds = (QUICK_FRAMES, 1) if quick else (FRAMES, MOST_ROUNDS)
    with tempfile.TemporaryDirectory(prefix="sluice-busy-") as scratch:
        folder = Path(scratch)
        models(DETECTOR, folder / "models")
        street, shaken = folder / "street.mp4", folder / "shaken.mp4"
        write_mp4(street, (each.image for each in islice(open_street(STREET), frames)), float(STREET["fps"]), 20)
        scenes = [Scene("full street", street, frames, list(MODES))]
        if not quick:
            write_mp4(shaken, islice(_shaken(), frames), FPS, 22)
            scenes.append(Scene("shaken camera", shaken, frames, list(MODES)))
        rows = compared(scenes, _query, folder, rounds)
    return harness.Outcome(rows, headline(rows), partial(draw, rows, goal=GOAL))


def _shaken() -> Iterator[Image]:
    """A clip through a window that jumps about."""
    rng = np.random.default_rng(0)
    source = open_source(SourceUri(str(VIDEOS / CLIPS[SHAKEN])), Sampling(), None)
    try:
        for picture in source.pictures():
            height, width = (side - 2 * SHAKE - side % 2 for side in picture.image.shape[:2])
            top, left = rng.integers(0, 2 * SHAKE, 2)
            yield np.ascontiguousarray(picture.image[top : top + height, left : left + width])
    finally:
        source.close()


def _query(video: Path, mode: str) -> Mapping[str, Any]:
    when, overload = MODES[mode]
    return {
        "version": 1,
        "name": "busy",
        "slo_ms": 60_000,
        "streams": [{"id": "camera", "uri": str(video.resolve()), "overload": overload}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": DETECTOR, "min_confidence": LEAST, "when": when},
            {"name": "track", "task": "track", "input": "detect"},
        ],
    }


if __name__ == "__main__":
    harness.run("busy", measure, __doc__ or "")
