"""Whether exits make a run dearer in which they cannot save anything, or hardly.

``sluice run`` analyses the first frames of a clip with ``yolox-nano`` where it is needed, or a whole generated street
of twenty minutes with ``motion``; a tracker and a recogniser, with an answer for each track: ``vehicle-type``, and on
the street one that takes 7 ms a look. The oracle alone (``specialize: false``, ``caches: false``) is compared with
nothing said of either (``default``), and with both ``true``. Training is allowed, as it always is.
``run_parts/side_by_side.py`` says how they are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.exits_video_parts.cases import NANO, Case, clips, streets
from benchmarks.recogniser_parts.dear import DEAR, MIDDLE, ready
from benchmarks.run_parts.side_by_side import Scene, compared, draw, headline
from benchmarks.tracking_parts.recordings import models

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "oracle": {"specialize": False, "caches": False},
    "default": {},
    "both true": {"specialize": True, "caches": True},
}
"""Options of the recogniser, by mode."""
CLIP, LENGTHS, QUICK_FRAMES, MOST_ROUNDS = "car park", (100, 300), 20, 10
GOAL = 1.03


def measure(quick: bool) -> harness.Outcome:
    """Two lengths of a clip, and a street; ``quick``: the clip's first frames, once."""
    clip, street = next(case for case in clips() if case.name == CLIP), streets()[-1]
    shown = [(clip, frames) for frames in ((QUICK_FRAMES,) if quick else LENGTHS)]
    shown += [] if quick else [(street, street.frames)]
    with tempfile.TemporaryDirectory(prefix="sluice-dearer-") as scratch:
        models(NANO, Path(scratch) / "models")
        for directory in ready(MIDDLE, DEAR).iterdir():
            (Path(scratch) / "models" / directory.name).symlink_to(directory)
        known = {Path(case.source()): case for case, _ in shown}
        scenes = [Scene(case.name, Path(case.source()), frames, list(OPTIONS)) for case, frames in shown]
        rows = compared(scenes, partial(_query, known), Path(scratch), 1 if quick else MOST_ROUNDS)
    return harness.Outcome(rows, headline(rows), partial(draw, rows, goal=GOAL))


def _query(known: Mapping[Path, Case], video: Path, mode: str) -> Mapping[str, Any]:
    recogniser = MIDDLE.name if known[video].street else "vehicle-type"
    return dict(known[video].query(recogniser, {"answer": "track", **OPTIONS[mode]}, {}))


if __name__ == "__main__":
    harness.run("never_dearer", measure, __doc__ or "")
