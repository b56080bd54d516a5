"""When the detector runs: where something has changed that the known boxes do not explain, and after so many frames.

Pure. Times are media seconds of one stream. In a still picture boxes stay where they are; where something moves inside
known boxes only, flow moves them for some frames; movement elsewhere asks for the detector at once. Movement for which
the detector has no word (leaves, shadows) is asked about ever more seldom, cell by cell; where it spreads, as something
does that comes into the picture, at the pace of known boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from operators.decision import Past
from operators.frames.changes import COLUMNS, ROWS, Cells

Reason = Literal["first", "still", "pace", "unsteady", "motion"]
"""``first``: nothing is known yet; ``still``: nothing has moved for long; ``pace``: so many frames were skipped;
``unsteady``: a cut, a change of light, or a moving camera; ``motion``: something moves outside of the known boxes."""

LONGEST_STILL_S = 2.0
"""The detector runs so often on a picture in which nothing moves: it may have overlooked something."""
LONGEST_MOVING_S = 0.4
"""The longest time that flow carries boxes at the first pace, 3, and at smaller ones, however few frames these are."""
MOVING_S = LONGEST_MOVING_S / 3
"""The same for each frame of a larger pace, that audits have allowed."""
MOMENT_S = 0.001
"""Time stamps are rounded."""
UNSTEADY_SHARE = 0.35
"""From this share of changed cells on the picture as a whole has changed."""
UNSTEADY_S = 0.3
"""So long the detector then runs on every frame."""
FIRST_REST_S, LONGEST_REST_S = 0.4, 12.8
"""How long movement in a cell is not asked about after the detector had no word for it; doubled each time."""
SPREAD = 2
"""So many cells further on movement counts as the same that the detector has just had no word for."""
_NEIGHBOURS = np.ones((2 * SPREAD + 1, 2 * SPREAD + 1), np.uint8)


AHEAD = {
    True: "the frames around it do not explain it: it begins or ends a window, or something comes, goes or moves there",
    False: "the detector, looking ahead, has found the same objects on frames before and after it",
}
"""By whether the detector ran on a frame that was planned together with others: why, in words."""


def in_words(why: Reason | None, every: int) -> str:
    """Say why the detector ran on a frame at a pace; None: why it did not."""
    match why:
        case None:
            return "what has changed since the detector last ran lies within the known boxes, or has no name"
        case "first":
            return "nothing is known yet"
        case "still":
            return f"it has not run for {LONGEST_STILL_S:g} s, though hardly anything moves"
        case "pace" if every <= 1:
            return "no frame may be skipped at this accuracy, as far as audits have shown"
        case "pace":
            return f"objects move, and it runs at least once in {every} frames then"
        case "unsteady":
            return "the picture as a whole has changed: a cut, a change of light, or a camera that moves"
        case "motion":
            return "something moves outside of the known boxes"


@dataclass(frozen=True, slots=True)
class FrameChanges:
    """The changes of one frame since the frame of the latest detection."""

    changed: Cells
    news: Cells
    """Changed cells that no known box covers."""


class When:
    """The rule and its memory for one run of a stream."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._detected_s: float | None = None
        self._skipped = 0
        self._unsteady_until_s = 0.0
        self._rests_s = np.full((ROWS, COLUMNS), FIRST_REST_S)
        self._asked_again_s = np.zeros((ROWS, COLUMNS))
        self._nameless = np.zeros((ROWS, COLUMNS), bool)

    @property
    def age_s(self) -> float:
        """Seconds since the latest detection."""
        return 0.0 if self._detected_s is None else self._now_s - self._detected_s

    @property
    def resting(self) -> Cells:
        """Cells whose movement is not asked about, or at the pace alone."""
        return np.asarray(self._nameless | (self._now_s < self._asked_again_s))

    def due(self, now_s: float, every: int, past: Past | None = None) -> Reason | None:
        """Begin a frame; returns why the detector must run whatever the frame shows.

        ``past``: what is to be done with it, where that is known; None: the rule decides.
        """
        self._now_s = now_s
        if self._detected_s is None:
            return "first"
        if past is not None:
            return None if past.skipped or past.window else "pace"
        if every <= 1:
            return "pace"
        if self._now_s < self._unsteady_until_s:
            return "unsteady"
        return "still" if self.age_s > LONGEST_STILL_S - MOMENT_S else None

    def decide(self, seen: FrameChanges, every: int, past: Past | None = None) -> Reason | None:
        """Why the detector must run on this frame; None where it need not. ``past``: see ``due``."""
        if past is not None:
            return "motion" if past.window else None
        if not seen.changed.any():
            return None
        if seen.changed.mean() >= UNSTEADY_SHARE:
            self._unsteady_until_s = self._now_s + UNSTEADY_S
            return "unsteady"
        asked = seen.news & (self._now_s >= self._asked_again_s)
        if (asked & ~self._nameless).any():
            return "motion"
        if not (asked | (seen.changed & ~seen.news)).any():
            return None  # only what the detector has no word for moves
        longest_s = max(LONGEST_MOVING_S, MOVING_S * every)
        return "pace" if self._skipped + 1 >= every or self.age_s > longest_s - MOMENT_S else None

    def skipped(self) -> None:
        """The detector did not run on this frame."""
        self._skipped += 1

    def detected(self, covered: Cells, news: Cells | None = None) -> None:
        """The detector ran and found objects in the ``covered`` cells, after there had been ``news``."""
        self._detected_s, self._skipped = self._now_s, 0
        self._rests_s[covered] = FIRST_REST_S
        self._rest(np.zeros_like(covered) if news is None else news & ~covered)

    def looked_ahead(self, now_s: float) -> None:
        """Go on at the end of a window."""
        self._now_s = now_s

    def _rest(self, nameless: NDArray[np.bool_]) -> None:
        self._asked_again_s[nameless] = self._now_s + self._rests_s[nameless]
        self._rests_s[nameless] = np.minimum(2 * self._rests_s[nameless], LONGEST_REST_S)
        self._nameless = cv2.dilate(nameless.astype(np.uint8), _NEIGHBOURS).astype(bool)
