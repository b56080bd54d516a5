"""One stream in the link of heads: its cascade, and which frames and tracks are followed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from operators.recognise.specialised.cascade import Cascade, InUse
from operators.recognise.specialised.own_samples import NOTHING

REMEMBERED = 4096
"""Tracks without a conclusion that are kept: those that were looked at last."""
RESTS = 8
"""Frames that are not followed after one from which nothing could come."""
EXPLAINED_EVERY = 50
"""Most frames after which it is found out anew why no head answers."""


class HeadStream:
    """The state of one stream."""

    def __init__(self, cascade: Cascade) -> None:
        self.cascade = cascade
        self._frames, self._due = 0, 1
        self._rests = self._unheard = 0
        self.computed = NOTHING
        """The head's answers for the latest frame."""
        self.allowed = True
        """Whether heads may answer at present."""
        self._asked: OrderedDict[int, tuple[InUse, bool]] = OrderedDict()

    def rests(self, looks: int) -> bool:
        """Whether a frame with so many looks is not followed; called once for each frame."""
        self._frames += 1
        self._unheard += looks
        self._rests -= 1
        return self._rests >= 0

    def rest(self) -> None:
        """Do not follow the next frames."""
        self._rests = RESTS

    def heard(self) -> int:
        """The number of looks since this was asked last."""
        looks, self._unheard = self._unheard, 0
        return looks

    def is_due(self) -> bool:
        """Whether it is time to find out anew why no head answers."""
        due = self._frames >= self._due
        if due:
            self._due = min(2 * self._frames, self._frames + EXPLAINED_EVERY)
        return due

    def asked(self, tracks: Iterable[int], used: InUse, unseen: bool) -> None:
        """Note that a head was asked for these tracks; ``unseen``: would have been, were it not in the shadow."""
        for track in tracks:
            self._asked[track] = used, unseen
            self._asked.move_to_end(track)
        while len(self._asked) > REMEMBERED:
            self._asked.popitem(last=False)

    def asked_for(self, track: int) -> tuple[InUse | None, bool]:
        """The head that was asked last for a track that is over, and whether unseen; None: the oracle alone."""
        return self._asked.pop(track, (None, False))
