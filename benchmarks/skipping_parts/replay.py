"""Rules that say on which frames a detector runs, replayed with what it finds on every frame."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, Protocol

from benchmarks.skipping_parts.recorded import Found, copies
from operators.capture.picture import MotionGate
from operators.detect.needed.ahead import FEWEST
from operators.detect.needed.bisection import MOMENT_S, window_s
from operators.detect.needed.carried import aged
from operators.detect.needed.matching import agreement
from operators.detect.needed.policy import Reason
from operators.detect.needed.stream import StreamView
from operators.frames.changes import thumbnail
from operators.frames.frame import Frame, Region
from pipelines.execute.ahead import FRAMES_AHEAD

Detect = Callable[[Frame], list[Region]]
"""What the detector finds on a frame, as new objects."""


class Answered(NamedTuple):
    """What a rule publishes of a frame."""

    regions: list[Region]
    detected: bool
    """Whether the detector had to run on it."""


class Rule(Protocol):
    """One rule for one stream."""

    def answer(self, frame: Frame, detect: Detect) -> Answered:
        """The regions of the next frame."""
        ...


class EveryNth:
    """The detector runs on every n-th frame; its boxes stay where they are until then."""

    def __init__(self, every: int) -> None:
        self._every, self._seen = every, 0
        self._regions: list[Region] = []

    def answer(self, frame: Frame, detect: Detect) -> Answered:
        """See ``Rule``."""
        self._seen += 1
        if (self._seen - 1) % self._every:
            return Answered(self._regions, False)
        self._regions = detect(frame)
        return Answered(self._regions, True)


class Gate:
    """The detector runs where capture's motion gate lets a frame through."""

    def __init__(self) -> None:
        self._gate = MotionGate()
        self._regions: list[Region] = []

    def answer(self, frame: Frame, detect: Detect) -> Answered:
        """See ``Rule``."""
        if not self._gate.passes(thumbnail(frame.pixels)):
            return Answered(self._regions, False)
        self._regions = detect(frame)
        return Answered(self._regions, True)


class Needed:
    """The product's rule at a fixed pace."""

    def __init__(self, every: int) -> None:
        self._view, self._every = StreamView("run"), every

    def answer(self, frame: Frame, detect: Detect) -> Answered:
        """See ``Rule``."""
        return _live(self._view, self._view.look(frame, self._every), frame, detect)


class LookAhead:
    """The product's rule at a fixed pace, where frames wait for those behind them."""

    def __init__(self, every: int, sure: float, frames: Sequence[Frame]) -> None:
        self._view, self._every, self._sure, self._frames = StreamView("run"), every, sure, frames

    def answer(self, frame: Frame, detect: Detect) -> Answered:
        """See ``Rule``."""
        view = self._view
        if frame.seq not in view.planned:
            why = view.look(frame, self._every, patient=True)
            if why not in ("motion", "pace") or not view.undecided:
                return _live(view, why, frame, detect)
            if not self._plan(frame, detect):
                return _live(view, view.look_on(self._every), frame, detect)
        plan = view.planned.pop(frame.seq)
        return Answered(plan.regions, plan.detected)

    def _plan(self, frame: Frame, detect: Detect) -> bool:
        until_s = frame.media_time_s - self._view.step_s + window_s(self._every)
        ahead = frames_until(self._frames[frame.seq :], until_s)
        if len(ahead) < FEWEST:
            return False
        window = self._view.window(ahead, self._every, self._sure)
        while window.wanted is not None:
            window.found(detect(ahead[window.wanted - 1]))
        self._view.take(window, ahead)
        return True


def _live(view: StreamView, why: Reason | None, frame: Frame, detect: Detect) -> Answered:
    if why is None:
        return Answered([aged(region, view.when.age_s) for region in view.regions], False)
    found = detect(frame)
    view.found(found)
    return Answered(found, True)


def frames_until(frames: Sequence[Frame], media_time_s: float) -> Sequence[Frame]:
    """The frames to the first at this time or later, at most as many as the product keeps."""
    end = next((n for n, each in enumerate(frames) if each.media_time_s >= media_time_s - MOMENT_S), len(frames))
    return frames[: min(end + 1, FRAMES_AHEAD)]


def replay(frames: Iterable[Frame], known: Found, rule: Rule, sure: float) -> dict[str, float]:
    """Play the frames; returns shares of frames and of objects, and processor milliseconds of the rule itself."""
    detect: Detect = lambda frame: copies(known[frame.seq])  # noqa: E731
    detected, own_s, agreed, counts = 0, 0.0, [], []
    matched = published = wanted = 0
    for frame, truth in zip(frames, known, strict=True):
        started_s = time.thread_time()
        regions, ran = rule.answer(frame, detect)
        own_s += time.thread_time() - started_s
        detected += ran
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


Make = Callable[[Sequence[Frame], float], Rule]
"""Makes a rule for frames, and the confidence from which an object counts."""

PACES = (2, 3, 4, 6, 8)
RULES: Mapping[str, Callable[[int], Make]] = {
    "every n-th": lambda n: lambda *_: EveryNth(n),
    "motion gate": lambda n: lambda *_: Gate(),
    "needed": lambda n: lambda *_: Needed(n),
    "look-ahead": lambda n: lambda frames, sure: LookAhead(n, sure, frames),
}
"""By name; what a setting makes of them."""
SETTINGS: Mapping[str, Sequence[int]] = {"motion gate": (0,)}
"""Those of rules without a pace."""
