"""Whether frames of windows may be filled as usual, by what detections beside them have shown. Pure.

Where a span is halved, its middle is detected, and shows for nothing what filling in would have said. These frames are
not drawn by chance: halved is what looks hard. So they prove nothing good of filling, and audits know nothing of them.
They are held against it: a filled frame counts as wrong as the worse of the detected ones beside it, times how much of
what was wrong on a halved span is wrong on its halves. That is next to nothing where things move smoothly, and all
where a camera shakes. Where more is wrong than half of what is tolerated, which leaves the other half to objects that
come and go, every window is halved once, and on to the frame where what would have been filled is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_CREDIT = 2.0
"""Frames that may be filled wrongly beyond the tolerated ones, at first and at most; no more are held against it."""
SHARE = 0.5
"""Share of the tolerated deficit that objects which lie elsewhere may have."""
FADING = 0.95
"""Weight of what was seen before, each time that halves were seen beside what was halved."""


@dataclass
class Halved:
    """How far filled objects would have lain elsewhere, 0…1 each, on spans that were halved twice."""

    wholes: float = 0.0
    """The sum on the middles of the larger spans."""
    halves: float = 0.0
    """That on the middles of their halves."""


class FillingDoubt:
    """The doubt about filled frames of one stream."""

    def __init__(self, tolerance: float) -> None:
        """``tolerance``: the mean deficit of a frame that is allowed, 0…1."""
        self._allowed, self._credit = tolerance * SHARE, MOST_CREDIT
        self._seen = Halved(1.0, 1.0)

    @property
    def strict(self) -> bool:
        """Whether no window is filled untried."""
        return self._credit <= 0

    def take(self, frames: int, doubtful: float, seen: Halved) -> None:
        """Take a window of so many frames, of which so many are wrong if filled ones are as wrong as those beside."""
        if seen.wholes:
            before = self._seen
            self._seen = Halved(FADING * before.wholes + seen.wholes, FADING * before.halves + seen.halves)
        wrong = doubtful * min(1.0, self._seen.halves / self._seen.wholes)
        credit = self._credit + self._allowed * frames - wrong
        self._credit = max(-MOST_CREDIT, min(credit, MOST_CREDIT))
