"""The memory for decoded frames that all streams of a process share."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from operators.frames.codec import DECODED_BYTES_PER_PIXEL, DECODING_BYTES_PER_PIXEL, FrameError, size_fault
from operators.wire.schema import FrameHeader


class ByteBudget:
    """Bytes are given out in the order of the requests, so small ones cannot overtake a large one for ever.

    A task that holds some must not ask for more: two that did would wait for each other.
    """

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.left_bytes = total_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size_bytes: int) -> None:
        """Return when the caller has its bytes; raises ValueError where the budget is smaller than that."""
        if size_bytes > self.total_bytes:
            raise ValueError(f"{size_bytes} bytes are more than the whole budget of {self.total_bytes}")
        if not self._waiting and size_bytes <= self.left_bytes:
            self.left_bytes -= size_bytes
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(size_bytes)
            else:
                self._waiting = deque(each for each in self._waiting if each[1] is not turn)
                self._serve()
            raise

    def give(self, size_bytes: int) -> None:
        self.left_bytes += size_bytes
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.left_bytes:
            size_bytes, turn = self._waiting.popleft()
            if not turn.done():
                self.left_bytes -= size_bytes
                turn.set_result(None)


UNBOUNDED = 1 << 62


@dataclass(frozen=True)
class FrameRoom:
    """Frames wait for each other when memory is short; a frame larger than the whole budget is refused."""

    budget: ByteBudget = field(default_factory=lambda: ByteBudget(UNBOUNDED))
    max_widths: Mapping[str, int] = field(default_factory=dict)
    """By stream."""
    widest: int | None = None
    """The bound of streams that ``max_widths`` does not name; None: only that of every picture."""

    @asynccontextmanager
    async def taken(self, header: FrameHeader) -> AsyncIterator[Callable[[], None]]:
        """Hold the frame's memory inside the block; call what it gives once the frame has been decoded.

        Raises ``FrameError`` (``image_too_large``). Raw frames are in memory already and take nothing.
        """
        self._check(header)
        pixels = 0 if header.raw else header.width * header.height
        decoding_bytes = pixels * DECODING_BYTES_PER_PIXEL
        self._check_fits(decoding_bytes, header)
        await self.budget.take(decoding_bytes)
        held_bytes = decoding_bytes

        def decoded() -> None:
            nonlocal held_bytes
            kept_bytes = pixels * DECODED_BYTES_PER_PIXEL
            self.budget.give(held_bytes - kept_bytes)
            held_bytes = kept_bytes

        try:
            yield decoded
        finally:
            self.budget.give(held_bytes)

    def _check(self, header: FrameHeader) -> None:
        fault = size_fault(header.width, header.height, self.max_widths.get(header.stream, self.widest))
        if fault:
            raise FrameError("image_too_large", f"the frame is not decoded: {fault}; capture it with a smaller width")

    def _check_fits(self, size_bytes: int, header: FrameHeader) -> None:
        if size_bytes > self.budget.total_bytes:
            size, room = (math.ceil(bytes_ / (1 << 20)) for bytes_ in (size_bytes, self.budget.total_bytes))
            raise FrameError(
                "image_too_large",
                f"decoding {header.width}×{header.height} pixels takes {size} MiB, more than the {room} MiB that "
                "decoded frames may take together: raise SLUICE_DECODED_MEMORY",
            )
