"""Whether ``specialize: true`` and ``caches: true`` make a run dearer that is too short for them to save anything.

``sluice run`` analyses the first frames of a clip with ``yolox-nano`` where it is needed, a tracker and
``vehicle-type`` with an answer for each track: with nothing else on, with ``specialize: true``, with ``caches: true``,
and with both. ``run_parts/side_by_side.py`` says how they are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.run_parts.side_by_side import Scene, compared, draw, headline
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from benchmarks.whole_parts.plain import DETECTOR, LEAST, LEAST_AREA, RECOGNISER

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "needed": {},
    "specialize": {"specialize": True},
    "caches": {"caches": True},
    "both": {"specialize": True, "caches": True},
}
"""Options of the recogniser, by mode."""
CLIP, LENGTHS, QUICK_FRAMES, MOST_ROUNDS = "car park", (100, 300), 20, 10
GOAL = 1.02


def measure(quick: bool) -> harness.Outcome:
    """Two lengths; ``quick``: a short one, once."""
    lengths, rounds = ((QUICK_FRAMES,), 1) if quick else (LENGTHS, MOST_ROUNDS)
    with tempfile.TemporaryDirectory(prefix="sluice-dearer-") as scratch:
        models(DETECTOR, Path(scratch) / "models")
        scenes = [Scene(CLIP, VIDEOS / CLIPS[CLIP], frames, list(OPTIONS)) for frames in lengths]
        rows = compared(scenes, _query, Path(scratch), rounds)
    return harness.Outcome(rows, headline(rows), partial(draw, rows, goal=GOAL))


def _query(video: Path, mode: str) -> Mapping[str, Any]:
    recognise = {"model": RECOGNISER, "input": f"track[area >= {LEAST_AREA}]", **OPTIONS[mode]}
    return {
        "version": 1,
        "name": "dearer",
        "slo_ms": 60_000,
        "streams": [{"id": "camera", "uri": str(video.resolve())}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": DETECTOR, "min_confidence": LEAST, "when": "needed"},
            {"name": "track", "task": "track", "input": "detect"},
            {"name": "type", "task": "recognise", **recognise},
        ],
    }


if __name__ == "__main__":
    harness.run("never_dearer", measure, __doc__ or "")
