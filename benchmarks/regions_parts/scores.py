"""How much of the truth, or of what the whole frame shows, a way finds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.regions_parts.looking import Look
from operators.frames.frame import Box, Frame
from operators.zones.geometry import overlap

HEIGHTS = {"16_32": (16, 32), "32_64": (32, 64), "64_128": (64, 128), "128_up": (128, math.inf)}
"""Heights of objects, in pixels of the frame."""


@dataclass
class Score:
    """Counts over the frames of one video."""

    frames: int = 0
    runs: int = 0
    found: int = 0
    right: int = 0
    wanted: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    whole: int = 0
    as_whole: int = 0
    has_truth: bool = False

    def row(self) -> dict[str, Any]:
        """As it is written; what nobody knows is NaN."""
        return {
            "frames": self.frames,
            "runs": round(self.runs / max(1, self.frames), 3),
            **{f"recall_{name}": _share(self.hit[name], self.wanted[name]) for name in HEIGHTS},
            **{f"objects_{name}": self.wanted[name] for name in HEIGHTS},
            "precision": _share(self.right, self.found) if self.has_truth else math.nan,
            "as_whole": _share(self.as_whole, self.whole),
            "more": _share(self.found - self.as_whole, self.whole),
        }


def score(into: Score, frame: Frame, truth: Sequence[Box] | None, look: Look, whole: Look) -> None:
    """Add one frame."""
    into.frames += 1
    into.runs += look.runs
    into.found += len(look.boxes)
    into.whole += len(whole.boxes)
    into.as_whole += len(_matched(whole.boxes, look.boxes))
    if truth is None:
        return
    into.has_truth = True
    hits = _matched(truth, look.boxes)
    into.right += len(hits)
    for place, box in enumerate(truth):
        height = (box.y_max - box.y_min) * frame.image.shape[0]
        for name, (least, most) in HEIGHTS.items():
            if least <= height < most:
                into.wanted[name] += 1
                into.hit[name] += place in hits


def _matched(wanted: Sequence[Box], found: Sequence[Box]) -> set[int]:
    """Places in ``wanted`` that a box covers; each box covers one at most."""
    taken: set[int] = set()
    for box in found:
        free = [(overlap(box, other), place) for place, other in enumerate(wanted) if place not in taken]
        best, place = max(free, default=(0.0, -1))
        if best >= 0.5:
            taken.add(place)
    return taken


def _share(part: int, of: int) -> float:
    return round(part / of, 3) if of else math.nan
