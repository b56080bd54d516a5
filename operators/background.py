"""The pictures that wait for a second look, and the task that looks at them without delaying frames."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

from operators.wire.schema import FrameId

log = logging.getLogger(__name__)


class HasBytes(Protocol):
    """A crop, or pictures with what has to be known to look at them."""

    @property
    def nbytes(self) -> int:
        """Bytes of the pixels."""


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
        return self.crop.nbytes


class Backlog(Generic[P, T]):
    """Bounded. Crops of a frame are held until the frame's result has been published, then looked at in their order.

    A full backlog says so *before* it is decided which crop is taken, so nothing that was chosen at random has to be
    thrown away for want of room: what is chosen remains a fair sample of what came while there was room.
    """

    def __init__(self, look: Callable[[P], Awaitable[T]], failing: str) -> None:
        """``failing``: the warning that is logged, once, where looking fails."""
        self._look, self._failing = look, failing
        self._held: list[tuple[FrameId, PendingLook[P, T]]] = []
        self._waiting: deque[PendingLook[P, T]] = deque()
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._complained = False

    @property
    def has_room(self) -> bool:
        return self._bytes < MAX_BYTES and len(self._held) + len(self._waiting) < MAX_WAITING

    def hold(self, frame: FrameId, looks: Sequence[PendingLook[P, T]]) -> None:
        """Hold crops of a frame until its result is ``published``."""
        self._held.extend((frame, each) for each in looks)
        self._bytes += sum(each.size_bytes for each in looks)

    def published(self, frame: FrameId) -> None:
        """Look at the crops of a frame, and of those before it in its run."""
        run = (frame.stream, frame.run)
        self._begin(self._taken(lambda of: (of.stream, of.run) == run and of.seq <= frame.seq))

    def dropped(self, frame: FrameId) -> None:
        """Give up the crops of a frame that was dropped or failed: nobody got its answers."""
        self._give_up_held(lambda of: of == frame)

    def forget(self, stream: str) -> None:
        """Give up the crops of a stream whose frames have no result yet."""
        self._give_up_held(lambda of: of.stream == stream)

    async def close(self, within_s: float) -> None:
        """Finish waiting crops within the time; give up the rest."""
        self._give_up_held(lambda of: True)
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within_s)
            self._task.cancel()
            await asyncio.wait([self._task])
        while self._waiting:
            self._give_up(self._waiting.popleft())

    def _taken(self, wanted: Callable[[FrameId], bool]) -> list[PendingLook[P, T]]:
        """Take out what is held for such frames."""
        held, self._held = self._held, [each for each in self._held if not wanted(each[0])]
        return [look for frame, look in held if wanted(frame)]

    def _give_up_held(self, wanted: Callable[[FrameId], bool]) -> None:
        for each in self._taken(wanted):
            self._give_up(each)

    def _begin(self, looks: Sequence[PendingLook[P, T]]) -> None:
        self._waiting.extend(looks)
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while self._waiting:
            batch = list(islice(self._waiting, AT_ONCE))
            found = await asyncio.gather(*(self._look(each.crop) for each in batch), return_exceptions=True)
            for look, seen in zip(batch, found, strict=True):
                self._waiting.popleft()
                self._hand_on(look, seen)

    def _hand_on(self, look: PendingLook[P, T], seen: T | BaseException) -> None:
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
