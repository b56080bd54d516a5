"""The pictures that wait for a second look, and the task that looks at them without delaying frames."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

log = logging.getLogger(__name__)


class HasBytes(Protocol):
    """A crop, or pictures with what has to be known to look at them."""

    @property
    def nbytes(self) -> int:
        """Bytes of the pixels."""
        ...


P = TypeVar("P", bound=HasBytes)
T = TypeVar("T")

MAX_WAITING = 256
MAX_BYTES = 32 << 20
AT_ONCE = 8
"""Number of single-crop requests that wait in the engine at once: it fits them into its pauses."""


@dataclass(frozen=True, slots=True, eq=False)
class PendingLook(Generic[P, T]):
    """A crop that waits for the oracle."""

    crop: P
    """A copy: a view would keep the whole frame in memory."""
    on_seen: Callable[[T], None]
    """Called with the oracle's answer."""
    give_up: Callable[[], None]
    """Called instead if the crop is given up."""

    @property
    def size_bytes(self) -> int:
        """Bytes of the crop."""
        return self.crop.nbytes


class Backlog(Generic[P, T]):
    """Bounded. Crops of a frame are held until the frame's result has been sent, then looked at in their order.

    A full backlog says so *before* it is decided which crop is taken, so nothing that was chosen at random has to be
    thrown away for want of room: what is chosen remains a fair sample of what came while there was room.
    """

    def __init__(self, look: Callable[[P], Awaitable[T]], failing: str) -> None:
        """``failing``: the warning that is logged, once, where looking fails."""
        self._look, self._failing = look, failing
        self._held: dict[str, list[PendingLook[P, T]]] = {}
        self._waiting: deque[PendingLook[P, T]] = deque()
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._complained = False

    @property
    def has_room(self) -> bool:
        """Whether more crops may be held."""
        held = sum(map(len, self._held.values()))
        return self._bytes < MAX_BYTES and held + len(self._waiting) < MAX_WAITING

    def hold(self, stream: str, looks: Sequence[PendingLook[P, T]]) -> None:
        """Hold crops of a stream's latest frame until its ``result_sent``."""
        if looks:
            self._held.setdefault(stream, []).extend(looks)
            self._bytes += sum(each.size_bytes for each in looks)

    def discard(self, stream: str) -> None:
        """Drop the crops of a stream's latest frame, which was dropped or failed: nobody got its answers."""
        for each in self._held.pop(stream, ()):
            self._give_up(each)

    def result_sent(self, stream: str) -> None:
        """Release the crops of a stream's latest frame, whose result was sent."""
        self._waiting.extend(self._held.pop(stream, ()))
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._work())

    async def close(self, within_s: float) -> None:
        """Finish waiting crops within the time; give up the rest."""
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
            for look, seen in zip(batch, found, strict=True):
                self._waiting.popleft()
                self._settle(look, seen)

    def _settle(self, look: PendingLook[P, T], seen: T | BaseException) -> None:
        if isinstance(seen, BaseException):
            self._give_up(look)
            self._complain(seen)
            return
        self._bytes -= look.size_bytes
        look.on_seen(seen)

    def _give_up(self, look: PendingLook[P, T]) -> None:
        self._bytes -= look.size_bytes
        look.give_up()

    def _complain(self, error: BaseException) -> None:
        """Log the first failure only, since the next ones are alike."""
        if not self._complained:
            self._complained = True
            log.warning("%s: %s", self._failing, error)
