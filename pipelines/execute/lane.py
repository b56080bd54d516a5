"""The waiting frames of one stream, in order. Every query has a claim on each frame, under its own overload policy."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Generic, TypeVar

from operators.wire.schema import FrameId
from pipelines.execute.overload import LATE, QUEUE_FULL, StreamPatience
from serving.common.clock import SYSTEM, Clock, Timer

log = logging.getLogger(__name__)

T = TypeVar("T")
Turn = TypeVar("Turn")

DEPTH = 8
"""Frames that wait at which a stream is full, unless a query wants all of them."""


class Dropped(Exception):
    """The frame was given up; ``cause`` says by which rule."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Claim(Generic[Turn, T]):
    """A query's claim on a frame: the work it has for the frame's turn, and the future that its submitter awaits.

    All claims are asked for their work before any is done.
    """

    __slots__ = ("deadline_s", "done", "patience", "timer", "work")

    def __init__(self, deadline_s: float, patience: StreamPatience, work: Callable[[Turn], Awaitable[T]]) -> None:
        """``deadline_s``: of the frame, for this query, on the monotonic clock."""
        self.deadline_s, self.patience, self.work = deadline_s, patience, work
        self.done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.timer: Timer | None = None

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            if not isinstance(error, Dropped):
                log.debug("a frame has failed", exc_info=error)
            # The calls that it and its causes went through hold this claim, and would with it keep the frame in memory.
            error.__cause__ = error.__context__ = None
            self.done.set_exception(error.with_traceback(None))


TakeTurn = Callable[[Callable[[Turn], Awaitable[None]]], Awaitable[None]]
"""Makes a frame's turn and hands it to the work that is to be done in it, until that ends."""


class _Entry(Generic[Turn, T]):
    """A waiting frame, the claims on it, and what makes its turn."""

    __slots__ = ("claims", "frame", "turn")

    def __init__(self, frame: FrameId, turn: TakeTurn[Turn]) -> None:
        self.frame, self.turn = frame, turn
        self.claims: list[Claim[Turn, T]] = []


class Lane(Generic[Turn, T]):
    """Runs the work of one stream's frames one at a time, in order; drops by the claims' policies, never silently.

    The claims on a frame are worked on at the same time. A frame that no claim is left on gets no turn.
    Lateness is checked when a frame is queued, on a timer while it waits, and when its turn comes.
    """

    def __init__(self, depth: int = DEPTH, clock: Clock = SYSTEM) -> None:
        self._depth = depth
        self._clock = clock
        self._queue: deque[_Entry[Turn, T]] = deque()
        self._hurried = False
        """Whether a claim has come that may be late."""
        self.runner: asyncio.Task[None] | None = None
        """Ends when the lane is idle; None while it is."""

    def run(self, frame: FrameId, claim: Claim[Turn, T], turn: TakeTurn[Turn]) -> Awaitable[T]:
        """Queue the work; its result raises ``Dropped``, as this may too, or what the work or the turn raises.

        A claim on the newest frame that waits joins those on it; ``turn`` is made once for all of them.
        """
        if self._is_late(claim, newer_waiting=False):
            claim.patience.dropped()
            raise Dropped(LATE)
        newest = self._queue[-1] if self._queue else None
        if newest is None or newest.frame != frame or any(each.patience is claim.patience for each in newest.claims):
            self._make_room(claim.patience)
            newest = _Entry(frame, turn)
            self._queue.append(newest)
        newest.claims.append(claim)
        self._hurried |= not claim.patience.patient
        self._drop_late()
        self._set_timer(claim)
        if self.runner is None:
            self.runner = asyncio.get_running_loop().create_task(self._drain())
        return claim.done

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing runs."""
        return self.runner is None

    def waiting(self, patience: StreamPatience) -> list[float]:
        """Deadlines of the frames that wait with a claim of this query, in their order."""
        return [each.deadline_s for entry in self._queue for each in entry.claims if each.patience is patience]

    @property
    def crowded(self) -> bool:
        """Whether the queue is half full or more."""
        return 2 * len(self._queue) >= self._depth

    def _make_room(self, patience: StreamPatience) -> None:
        """Drop the oldest frames where the lane is full, unless a query wants them all."""
        while len(self._queue) >= self._depth:
            oldest = self._queue[0]
            if patience.patient or any(each.patience.patient for each in oldest.claims):
                return
            for claim in oldest.claims[:]:
                self._drop(oldest, claim, QUEUE_FULL)

    async def _drain(self) -> None:
        while self._queue:
            self._drop_late()
            if not self._queue:
                break
            entry = self._queue.popleft()
            for claim in entry.claims:
                _cancel_timer(claim)
            wanted = [claim for claim in entry.claims if not claim.done.cancelled()]
            if wanted:  # else nobody waits for it any more
                await self._perform(entry, wanted if len(wanted) == 1 else sorted(wanted, key=attrgetter("deadline_s")))
        self.runner = None

    async def _perform(self, entry: _Entry[Turn, T], claims: Sequence[Claim[Turn, T]]) -> None:
        started_s = self._clock.monotonic_s()
        try:
            await entry.turn(partial(self._together, claims, started_s))
        except Exception as error:
            for claim in claims:
                claim.patience.analysed(self._clock.monotonic_s() - started_s)
                claim.fail(error)

    async def _together(self, claims: Sequence[Claim[Turn, T]], started_s: float, turn: Turn) -> None:
        works = [self._answer(claim, claim.work(turn), started_s) for claim in claims]
        await (works[0] if len(works) == 1 else asyncio.gather(*works))

    async def _answer(self, claim: Claim[Turn, T], work: Awaitable[T], started_s: float) -> None:
        patience = claim.patience
        try:
            result = await work
        except Dropped as drop:  # given up half-way, which says nothing about the time that a frame takes
            patience.dropped()
            claim.fail(drop)
        except Exception as error:
            patience.analysed(self._clock.monotonic_s() - started_s)
            claim.fail(error)
        else:
            patience.analysed(self._clock.monotonic_s() - started_s)
            if not claim.done.cancelled():
                claim.done.set_result(result)

    def _is_late(self, claim: Claim[Turn, T], newer_waiting: bool) -> bool:
        return claim.patience.late(claim.deadline_s, newer_waiting, self._clock.monotonic_s())

    def _drop_late(self) -> None:
        if not self._hurried:
            return
        for entry in list(self._queue):
            for claim in entry.claims[:]:
                if not claim.patience.patient and self._is_late(claim, entry is not self._queue[-1]):
                    self._drop(entry, claim, LATE)

    def _drop(self, entry: _Entry[Turn, T], claim: Claim[Turn, T], cause: str) -> None:
        entry.claims.remove(claim)
        if not entry.claims:
            self._queue.remove(entry)
        _cancel_timer(claim)
        claim.patience.dropped()
        claim.fail(Dropped(cause))

    def _set_timer(self, claim: Claim[Turn, T]) -> None:
        """Check again when the deadline passes: the drop must show even while the frame before it never ends."""
        if not claim.patience.patient and not claim.done.done():
            due_s = max(claim.deadline_s, self._clock.monotonic_s())
            claim.timer = self._clock.call_at(due_s + 0.001, self._drop_late)


def _cancel_timer(claim: Claim[Turn, T]) -> None:
    if claim.timer is not None:
        claim.timer.cancel()
