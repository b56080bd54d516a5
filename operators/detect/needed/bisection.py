"""On which frames of a window the detector runs: on both ends, and on the middle of what they do not explain. Pure.

A window begins with a frame whose objects are known and ends some frames ahead of it. The frames between two frames
with known objects are a span. A span that its ends explain is filled from them; else its middle is detected and both
halves are spans, down to the shortest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

WINDOW_S = 1 / 6
"""Media seconds of a window for each frame of the pace: half a second at the first pace, 3."""
SHORTEST = 0.4
"""Share of a window that is filled even where its ends do not explain it."""
MOMENT_S = 0.001
"""Time stamps are rounded."""

Verdict = Literal["explained", "unexplained", "cut"]
"""``explained``: both ends show the same objects, and nothing else moved; ``cut``: the picture as a whole changed."""


@dataclass(frozen=True, slots=True)
class FrameSpan:
    """The frames between two frames with known objects, by their places in the window; at least one."""

    first: int
    last: int

    @property
    def middle(self) -> int:
        """The frame that is detected where the ends do not explain the span."""
        return (self.first + self.last) // 2


def window_s(every: int) -> float:
    return every * WINDOW_S


class Bisection:
    """One window. By turns, ``wanted`` says which frame is to be detected, and ``open`` which span is to be judged."""

    def __init__(self, times_s: Sequence[float], every: int) -> None:
        """``times_s``: media times of the frames, two at least; the objects of the first are known."""
        self._times_s = times_s
        self._shortest_s = SHORTEST * window_s(every) + MOMENT_S
        self._open: list[FrameSpan] = []
        self._divide(0, len(times_s) - 1)
        self.wanted: int | None = len(times_s) - 1
        """The frame to be detected next; None while a span is to be judged, and at the end."""
        self.filled: list[FrameSpan] = []
        """The spans to be filled from their ends, in order."""
        self.halved: FrameSpan | None = None
        """The span whose middle is the wanted frame; None where that is the window's end."""

    @property
    def open(self) -> FrameSpan | None:
        """The span to be judged; None at the end, and while a frame is to be detected."""
        return self._open[-1] if self._open and self.wanted is None else None

    def detected(self) -> None:
        """Note that the objects of the wanted frame are known."""
        self.wanted = None

    def judge(self, verdict: Verdict) -> None:
        """Take what was found about the open span."""
        span = self._open.pop()
        short = self._times_s[span.last] - self._times_s[span.first] <= self._shortest_s
        if verdict == "explained" or (short and verdict != "cut"):
            self.filled.append(span)
            return
        self.wanted, self.halved = span.middle, span
        self._divide(span.middle, span.last)
        self._divide(span.first, span.middle)

    def _divide(self, first: int, last: int) -> None:
        if last - first > 1:
            self._open.append(FrameSpan(first, last))


class Repeated(Bisection):
    """A window as it was divided once before."""

    def __init__(self, times_s: Sequence[float], every: int, detected: Sequence[bool]) -> None:
        """``detected``: whether each frame behind the first was."""
        super().__init__(times_s, every)
        self._detected = detected

    def judge(self, verdict: Verdict) -> None:
        """Divide the open span where it was divided, whatever was found about it now."""
        span = self._open[-1]
        super().judge("cut" if any(self._detected[span.first : span.last - 1]) else "explained")
