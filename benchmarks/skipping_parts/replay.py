"""Rules that say on which frames a detector runs, replayed with what it finds on every frame."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Protocol

import cv2

from benchmarks.skipping_parts.recorded import Found, copies
from operators.capture.motion_gate import MotionGate
from operators.detect.needed.matching import agreement
from operators.detect.needed.stream import StreamView
from operators.frames.frame import Frame, Region


class Rule(Protocol):
    """One rule for one stream."""

    def skips(self, frame: Frame) -> list[Region] | None:
        """The regions of a frame on which the detector need not run; None where it must."""
        ...

    def found(self, regions: list[Region]) -> None:
        """What the detector found on the frame."""
        ...


class EveryNth:
    """The detector runs on every n-th frame; its boxes stay where they are until then."""

    def __init__(self, every: int) -> None:
        self._every, self._seen = every, 0
        self._regions: list[Region] = []

    def skips(self, frame: Frame) -> list[Region] | None:
        """See ``Rule``."""
        self._seen += 1
        return self._regions if (self._seen - 1) % self._every else None

    def found(self, regions: list[Region]) -> None:
        """See ``Rule``."""
        self._regions = regions


class Gate:
    """The detector runs where capture's motion gate lets a frame through."""

    def __init__(self) -> None:
        self._gate = MotionGate()
        self._regions: list[Region] = []

    def skips(self, frame: Frame) -> list[Region] | None:
        """See ``Rule``."""
        small = cv2.cvtColor(cv2.resize(frame.image, (160, 90), interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
        return None if self._gate.passes(small) else self._regions

    def found(self, regions: list[Region]) -> None:
        """See ``Rule``."""
        self._regions = regions


class Needed:
    """The product's rule at a fixed pace."""

    def __init__(self, every: int) -> None:
        self._view, self._every = StreamView("run"), every

    def skips(self, frame: Frame) -> list[Region] | None:
        """See ``Rule``."""
        return self._view.regions if self._view.look(frame, self._every) is None else None

    def found(self, regions: list[Region]) -> None:
        """See ``Rule``."""
        self._view.found(regions)


def replay(frames: Iterable[Frame], known: Found, rule: Rule, sure: float) -> dict[str, float]:
    """Play the frames; returns shares of frames and of objects, and processor milliseconds of the rule itself."""
    detected, own_s, agreed, counts = 0, 0.0, [], []
    matched = published = wanted = 0
    for frame, truth in zip(frames, known, strict=True):
        started_s = time.thread_time()
        regions = rule.skips(frame)
        own_s += time.thread_time() - started_s
        if regions is None:
            detected += 1
            regions = copies(truth)
            rule.found(regions)
        agreed.append(agreement(truth, regions, sure))
        same = agreement(truth, regions, 0.0)
        both = len(truth) + len(regions)
        matched_here = round(same * both / (1 + same)) if both else 0
        matched, published, wanted = matched + matched_here, published + len(regions), wanted + len(truth)
        counts.append(abs(len(truth) - len(regions)))
    return {
        "detected": round(detected / len(known), 4),
        "agreement": round(fmean(agreed), 4),
        "recall": round(matched / wanted, 4) if wanted else 1.0,
        "precision": round(matched / published, 4) if published else 1.0,
        "count_error": round(fmean(counts), 4),
        "own_ms": round(1000 * own_s / len(known), 3),
    }


RULES: Mapping[str, Sequence[tuple[int, Callable[[], Rule]]]] = {
    "every n-th": [(n, lambda n=n: EveryNth(n)) for n in (2, 3, 4, 6, 8)],  # type: ignore[misc]
    "motion gate": [(0, Gate)],
    "needed": [(n, lambda n=n: Needed(n)) for n in (2, 3, 4, 6, 8)],  # type: ignore[misc]
}
"""By name: settings, and what makes the rule."""
