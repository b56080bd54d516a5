"""The lanes of all streams: in its turn a frame is decoded once, for all queries that have claims on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from typing import NamedTuple

from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader, Result
from pipelines.execute.frame_answers import FrameAnswers
from pipelines.execute.frame_room import FrameRoom
from pipelines.execute.lane import Claim, Lane
from pipelines.execute.moments import Moment, Moments
from pipelines.execute.stopwatch import StageStopwatch
from serving.common.clock import SYSTEM, Clock
from serving.common.threads import in_thread

LoadFrame = Callable[[], Frame]
"""Gives the decoded frame; called only for frames that are not dropped, in a thread where there is much to decode."""


class FrameTurn(NamedTuple):
    frame: Frame
    began_s: float
    """Seconds on the monotonic clock; decoding comes after."""
    watch: StageStopwatch
    """Has timed the decoding."""
    answers: FrameAnswers
    """The answers of nodes that several queries share."""


FrameClaim = Claim[FrameTurn, Result]


class Lanes:
    """One lane for each stream, with the memory for decoded frames."""

    def __init__(self, clock: Clock = SYSTEM, room: FrameRoom | None = None) -> None:
        self.clock = clock
        self.room = room or FrameRoom()
        """May be replaced: frames whose turn comes later are checked against the new one."""
        self._moments = Moments(clock)
        self._lanes: dict[str, Lane[FrameTurn, Result]] = {}

    def run(self, header: FrameHeader, load: LoadFrame, claim: FrameClaim) -> Awaitable[Result]:
        """Work on a frame in its turn; raises ``Dropped``, what ``load`` raises, and ``FrameError`` for a large one."""
        return self.of(header.stream).run(header.id, claim, partial(self._turn, header, load))

    def of(self, stream: str) -> Lane[FrameTurn, Result]:
        if stream not in self._lanes:
            self._lanes[stream] = Lane(clock=self.clock)
        return self._lanes[stream]

    def moment(self, header: FrameHeader) -> Moment:
        """When a frame that arrives now was captured."""
        return self._moments.of(header, idle=not self.busy(header.stream))

    def busy(self, stream: str) -> bool:
        """Whether a frame of the stream waits or is analysed."""
        lane = self._lanes.get(stream)
        return lane is not None and not lane.idle

    async def settled(self, within_s: float) -> None:
        """Return when no frame is analysed any more, or after so long."""
        runners = [lane.runner for lane in self._lanes.values() if lane.runner is not None]
        if runners:
            await asyncio.wait(runners, timeout=within_s)

    def forget(self, stream: str) -> None:
        self._lanes.pop(stream, None)
        self._moments.forget(stream)

    async def _turn(self, header: FrameHeader, load: LoadFrame, work: Callable[[FrameTurn], Awaitable[None]]) -> None:
        async with self.room.taken(header) as decoded:
            watch, began_s = StageStopwatch(), self.clock.monotonic_s()
            decode = partial(watch.timed, "decode", load)
            frame = decode() if header.raw else await in_thread(decode)
            decoded()
            with closing(FrameAnswers()) as answers:
                await work(FrameTurn(frame, began_s, watch, answers))
