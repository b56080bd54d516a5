"""Frames that capture has numbered and that never came: gaps in the numbers of a run. Pure."""

from __future__ import annotations

from operators.wire.schema import FrameId


class MissingFrames:
    """The latest frame of each stream; frames that come again, as after a restart, are no news.

    >>> missing = MissingFrames()
    >>> [missing.before(FrameId("gate", "r1", seq)) for seq in (7, 8, 12, 8, 13)]
    [0, 0, 3, 0, 0]
    >>> missing.before(FrameId("gate", "r2", 40))
    0
    >>> missing.begin_anew()
    >>> [missing.before(FrameId("gate", "r2", seq)) for seq in (90, 92)]
    [0, 1]
    """

    def __init__(self) -> None:
        self._latest: dict[str, FrameId] = {}

    def before(self, frame: FrameId) -> int:
        """How many frames are missing between the latest one of the same run and this; note this one."""
        latest = self._latest.get(frame.stream)
        if latest is None or latest.run != frame.run:
            self._latest[frame.stream] = frame
            return 0
        if frame.seq <= latest.seq:
            return 0
        self._latest[frame.stream] = frame
        return frame.seq - latest.seq - 1

    def begin_anew(self) -> None:
        """Note that partitions moved: until it is known what others have answered meanwhile, nothing is missing."""
        self._latest.clear()

    def forget(self, stream: str) -> None:
        """The next frame of the stream is the first."""
        self._latest.pop(stream, None)
