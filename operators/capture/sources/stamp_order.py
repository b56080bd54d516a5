"""Puts time stamps into the order in which frames are shown, where a container gives them in the order of its packets.

A decoder hands frames out in the order in which they are shown, each with the time stamp of its packet. AVI, and some
recorders in other containers, number packets in the order in which they are stored. With B-frames these orders differ,
so that the stamps of good frames jump back and forth. The right stamp of a frame is then the least one that the decoder
has been given and that no earlier frame has got: the packets that are needed for a frame always go in before it comes
out, so nothing has to be held back.

Packets that are lost leave stamps behind that no frame will bring. Such stamps would make later frames early. They are
forgotten at the next key frame, and after ``_WINDOW`` packets at the latest. Where the stamps are seen to be in the
right order already, every frame keeps its own.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from typing import Final

_WINDOW: Final = 32
"""More packets than any decoder holds back: 16 by the standards, and some for its threads."""


class StampOrder:
    """Sorts stamps by every packet that goes into a decoder (``fed``) and every frame that comes out (``shown``)."""

    def __init__(self, *, sorts: bool = True) -> None:
        """``sorts``: False if the decoder skips packets on purpose, so that frames are in order anyway."""
        self._sorts = sorts
        self._in_packet_order: bool | None = None
        """Whether the container numbers packets in the order of storage; None while that is not known."""
        self._fed: deque[float] = deque(maxlen=_WINDOW)
        self._shown: deque[float] = deque(maxlen=_WINDOW)
        self._held: list[float] = []
        """Stamps of packets whose frames have not come out, ascending."""
        self._owed: list[float] = []
        """Stamps of frames that got an earlier one, ascending."""
        self._lent: list[float] = []
        """Stamps that were given to other frames before their own frame came out, ascending; not in ``_held``."""

    @property
    def trusted(self) -> bool:
        """Whether the stamps are known to say when frames are shown."""
        return not self._sorts or self._in_packet_order is False

    def fed(self, stamp: float) -> None:
        """Take the stamp of a packet that goes into the decoder."""
        if self._fed and stamp < self._fed[-1]:
            self._in_packet_order = False  # stored out of order, so the stamp tells when the frame is shown
        if len(self._fed) == _WINDOW:
            self._lose(self._fed[0])
        self._fed.append(stamp)
        insort(self._held, stamp)

    def shown(self, own: float, *, key: bool = False) -> float:
        """Return the right stamp of the next frame, which came out with the stamp ``own``; ``key``: a key frame."""
        self._learn(own)
        if key or not self._shown:
            for stamp in [stamp for stamp in (*self._held, *self._lent) if stamp < own]:
                self._lose(stamp)
        self._shown.append(own)
        self._bring(own)
        if self.trusted:
            self._owed, self._lent = [], []
            return own
        return self._give(min(self._owed[:1] + self._held[:1]))

    def _learn(self, own: float) -> None:
        """Frames that step back a little, to between others of late, were not stored in the order of showing."""
        if self._shown and min(self._shown) < own < self._shown[-1]:
            self._in_packet_order = True
        elif self._in_packet_order is None and len(self._shown) == _WINDOW:
            self._in_packet_order = False

    def _bring(self, own: float) -> None:
        """Note that the frame of this stamp came out."""
        if own in self._lent:
            self._lent.remove(own)
            return
        if own in self._held:
            self._held.remove(own)
        insort(self._owed, own)

    def _give(self, stamp: float) -> float:
        """Give the least stamp to the frame that is shown."""
        if stamp in self._owed:
            self._owed.remove(stamp)
        else:
            self._held.remove(stamp)
            insort(self._lent, stamp)
        return stamp

    def _lose(self, stamp: float) -> None:
        """Forget a stamp that no frame will bring; if it was lent, the least one owed takes its place."""
        if stamp in self._held:
            self._held.remove(stamp)
        elif stamp in self._lent:
            self._lent.remove(stamp)
            del self._owed[:1]
