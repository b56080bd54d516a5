"""Rules that say on which frames a detector runs, replayed with what it finds on every frame."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Protocol

import cv2

from benchmarks.skipping_parts.recorded import Found, copies
from operators.capture.motion_gate import MotionGate
from operators.detect.needed.ahead import FEWEST
from operators.detect.needed.bisection import MOMENT_S, window_s
from operators.detect.needed.matching import agreement
from operators.detect.needed.policy import Reason
from operators.detect.needed.stream import StreamView
from operators.frames.frame import Frame, Region
from pipelines.execute.ahead import FRAMES_AHEAD


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


class LookAhead:
    """The product's rule at a fixed pace, where frames wait for those behind them."""

    def __init__(self, every: int, sure: float, frames: Sequence[Frame], known: Found) -> None:
        self._view, self._every, self._sure = StreamView("run"), every, sure
        self._frames, self._known = frames, known
        self._planned = False
        self._why: Reason | None = None

    def skips(self, frame: Frame) -> list[Region] | None:
        """See ``Rule``."""
        self._planned = self._is_planned(frame)
        if self._planned:
            plan = self._view.planned.pop(frame.seq)
            return None if plan.detected else plan.regions
        return None if self._why is not None else self._view.regions

    def found(self, regions: list[Region]) -> None:
        """See ``Rule``."""
        if not self._planned:
            self._view.found(regions)

    def _is_planned(self, frame: Frame) -> bool:
        view = self._view
        if frame.seq in view.planned:
            return True
        self._why = view.look(frame, self._every, patient=True)
        if self._why not in ("motion", "pace") or not view.undecided:
            return False
        ahead = frames_until(self._frames[frame.seq :], frame.media_time_s - view.step_s + window_s(self._every))
        if len(ahead) < FEWEST:
            self._why = view.look_on(self._every)
            return False
        window = view.window(ahead, self._every, self._sure)
        while window.wanted is not None:
            window.found(copies(self._known[ahead[window.wanted - 1].seq]))
        view.take(window, ahead)
        return True


def frames_until(frames: Sequence[Frame], media_time_s: float) -> Sequence[Frame]:
    """The frames to the first at this time or later, at most as many as the product keeps."""
    end = next((n for n, each in enumerate(frames) if each.media_time_s >= media_time_s - MOMENT_S), len(frames))
    return frames[: min(end + 1, FRAMES_AHEAD)]


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


Make = Callable[[Sequence[Frame], Found, float], Rule]
"""Makes a rule for frames, what the detector finds on them, and the confidence from which an object counts."""

PACES = (2, 3, 4, 6, 8)
RULES: Mapping[str, Callable[[int], Make]] = {
    "every n-th": lambda n: lambda *_: EveryNth(n),
    "motion gate": lambda n: lambda *_: Gate(),
    "needed": lambda n: lambda *_: Needed(n),
    "look-ahead": lambda n: lambda frames, known, sure: LookAhead(n, sure, frames, known),
}
"""By name; what a setting makes of them."""
SETTINGS: Mapping[str, Sequence[int]] = {"motion gate": (0,)}
"""Those of rules without a pace."""
