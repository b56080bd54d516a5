"""Crops that wait to be looked at once more, and the task that has it done: never in the way of a frame."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from operators.frame import Image

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_WAITING = 256
MAX_BYTES = 32 << 20
AT_ONCE = 8
"""Requests that wait in the engine together, each of one crop: it fills its pauses with as many as fit in."""


@dataclass(frozen=True, slots=True, eq=False)
class Errand(Generic[T]):
    """A crop to be looked at, and who wants to know."""

    crop: Image
    """A copy: a view would keep the whole frame in memory."""
    tell: Callable[[T], None]
    """Called with what was seen."""
    give_up: Callable[[], None]
    """Called instead where nobody will look."""

    @property
    def size_bytes(self) -> int:
        """Of the crop."""
        return self.crop.nbytes


class Backlog(Generic[T]):
    """Bounded. Errands of a frame are held until the frame's result has left, and are then done in their order.

    A full backlog says so *before* it is decided which crop is taken, so nothing that was chosen at random has to be
    thrown away for want of room: what is chosen remains a fair sample of what came while there was room.
    """

    def __init__(self, look: Callable[[Image], Awaitable[T]], failing: str) -> None:
        """``failing``: what to warn of, once, where looking fails."""
        self._look, self._failing = look, failing
        self._held: dict[str, list[Errand[T]]] = {}
        self._waiting: deque[Errand[T]] = deque()
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._complained = False

    @property
    def has_room(self) -> bool:
        """Whether errands may be taken on."""
        held = sum(map(len, self._held.values()))
        return self._bytes < MAX_BYTES and held + len(self._waiting) < MAX_WAITING

    def hold(self, stream: str, errands: Sequence[Errand[T]]) -> None:
        """Keep more errands of a stream's latest frame until it has ``left``."""
        if errands:
            self._held.setdefault(stream, []).extend(errands)
            self._bytes += sum(each.size_bytes for each in errands)

    def discard(self, stream: str) -> None:
        """The stream's latest frame came to nothing: its answers reached nobody, and are not looked at."""
        for each in self._held.pop(stream, ()):
            self._give_up(each)

    def left(self, stream: str) -> None:
        """The result of the stream's latest frame is complete: its crops may be looked at."""
        self._waiting.extend(self._held.pop(stream, ()))
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._work())

    async def close(self, within_s: float) -> None:
        """Finish what waits, within the time; give up the rest."""
        for stream in list(self._held):
            self.discard(stream)
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within_s)
            self._task.cancel()
            await asyncio.wait([self._task])
        while self._waiting:
            self._give_up(self._waiting.popleft())

    async def _work(self) -> None:
        while self._waiting:
            batch = list(islice(self._waiting, AT_ONCE))
            found = await asyncio.gather(*(self._look(each.crop) for each in batch), return_exceptions=True)
            for errand, seen in zip(batch, found, strict=True):
                self._waiting.popleft()
                self._settle(errand, seen)

    def _settle(self, errand: Errand[T], seen: T | BaseException) -> None:
        if isinstance(seen, BaseException):
            self._give_up(errand)
            self._complain(seen)
            return
        self._bytes -= errand.size_bytes
        errand.tell(seen)

    def _give_up(self, errand: Errand[T]) -> None:
        self._bytes -= errand.size_bytes
        errand.give_up()

    def _complain(self, error: BaseException) -> None:
        """Once: what fails fails again."""
        if not self._complained:
            self._complained = True
            log.warning("%s: %s", self._failing, error)
