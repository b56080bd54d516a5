"""What is shown: clips as they are, and streets whose truth is written down while they are drawn."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tracking_parts.recordings import BoxTuple
from datasets.street import TYPES, open_street
from datasets.street.__main__ import told
from datasets.video import write_mp4

VIDEOS = Path(os.environ.get("SLUICE_DATA", "../shared/data")) / "videos"
CLIPS = {
    "car park": "car-detection.mp4",
    "persons, bicycles, cars": "person-bicycle-car-detection.mp4",
    "persons one by one": "one-by-one-person-detection.mp4",
    "bottles": "bottle-detection.mp4",
    "street level": "street-level.mp4",
}
FPS = 12
OTHER_WORDS = {**TYPES, "person": ("other",)}
"""What the recogniser may call things that the street calls by another word."""
Truth = Sequence[Sequence[tuple[Sequence[str], BoxTuple]]]
"""By frame: what the true objects may be called, in the recogniser's words, and boxes."""


@dataclass(frozen=True)
class Case:
    """A video with the boxes of one detector."""

    name: str
    boxes: str
    video: Path
    truth: Path | None = None
    """The street's objects, a JSON line per frame."""
    limit: int | None = None
    """So many frames are analysed; None: all."""
    fps: float | None = None
    """So many of a second are analysed; None: all."""

    def read_truth(self) -> Truth | None:
        """Return the truth; None for a clip, which has none."""
        if self.truth is None:
            return None
        lines = [json.loads(line) for line in self.truth.read_text(encoding="utf-8").splitlines()]
        return [[_true(one) for one in line["objects"]] for line in lines]


def street(folder: Path, seed: int, light: str, duration_s: float) -> tuple[Path, Path]:
    """Draw a street; returns its video and its truth."""
    video, truth = folder / f"street-{seed}-{light}.mp4", folder / f"street-{seed}-{light}.jsonl"
    options = {"seed": str(seed), "light": light, "fps": str(FPS), "duration_s": str(duration_s)}
    with truth.open("w", encoding="utf-8") as lines:
        write_mp4(video, told(open_street(options), lines), FPS, 20)
    return video, truth


def _true(one: Mapping[str, Any]) -> tuple[Sequence[str], BoxTuple]:
    x_min, y_min, x_max, y_max = one["box"]
    return OTHER_WORDS.get(one["label"], (one["label"],)), (x_min, y_min, x_max, y_max)
