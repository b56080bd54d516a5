"""Answers that wait to be looked at by the oracle, and the task that has it look: never in the way of a frame."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from cache_adapt.audit import Audit, Ticket
from operators.frame import Image

log = logging.getLogger(__name__)

MAX_WAITING = 256
MAX_BYTES = 32 << 20
AT_ONCE = 8
"""Requests that wait in the engine together, each of one crop: it fills its pauses with as many as fit in."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """An answer that was drawn for an audit."""

    stream: str
    audit: Audit
    ticket: Ticket
    crop: Image
    """A copy: a view would keep the whole frame in memory."""
    label: str
    """What the shortcut said."""

    @property
    def size_bytes(self) -> int:
        """Of the crop."""
        return self.crop.nbytes


class Backlog:
    """Bounded. Answers of a frame are held until the frame's result has left, and then looked at in their order.

    A full backlog refuses *before* it is decided which answer is drawn, so nothing that was drawn has to be thrown away
    for want of room: what is drawn remains a fair sample of the answers given while there was room.
    """

    def __init__(self, look: Callable[[Image], Awaitable[str]], told: Callable[[Drawn], None]) -> None:
        """``look``: what the oracle says of a crop; ``told`` hears of every answer whose audit has its outcome."""
        self._look, self._told = look, told
        self._held: dict[str, list[Drawn]] = {}
        self._waiting: deque[Drawn] = deque()
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._complained = False

    @property
    def has_room(self) -> bool:
        """Whether answers may be drawn."""
        held = sum(map(len, self._held.values()))
        return self._bytes < MAX_BYTES and held + len(self._waiting) < MAX_WAITING

    def hold(self, stream: str, drawn: Sequence[Drawn]) -> None:
        """Keep the answers drawn of a stream's latest frame until it has ``left``."""
        self.discard(stream)
        if drawn:
            self._held[stream] = list(drawn)
            self._bytes += sum(each.size_bytes for each in drawn)

    def discard(self, stream: str) -> None:
        """The stream's latest frame came to nothing: its answers reached nobody, and are not audited."""
        for each in self._held.pop(stream, ()):
            self._give_up(each)

    def left(self, stream: str) -> None:
        """The result of the stream's latest frame is complete: its answers may be looked at."""
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
            labels = await asyncio.gather(*(self._look(each.crop) for each in batch), return_exceptions=True)
            for drawn, label in zip(batch, labels, strict=True):
                self._waiting.popleft()
                self._settle(drawn, label)

    def _settle(self, drawn: Drawn, label: str | BaseException) -> None:
        if isinstance(label, BaseException):
            self._give_up(drawn)
            self._complain(label)
            return
        self._bytes -= drawn.size_bytes
        drawn.audit.tell(drawn.ticket, label == drawn.label)
        self._told(drawn)

    def _give_up(self, drawn: Drawn) -> None:
        self._bytes -= drawn.size_bytes
        drawn.audit.give_up()

    def _complain(self, error: BaseException) -> None:
        """Once: a failing oracle fails again."""
        if not self._complained:
            self._complained = True
            log.warning("the oracle cannot audit: %s", error)
