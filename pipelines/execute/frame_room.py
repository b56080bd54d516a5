"""The memory for decoded frames that all streams of a process share."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from operators.frames.codec import FrameError
from operators.frames.image_limits import DECODED_BYTES_PER_PIXEL, DECODING_BYTES_PER_PIXEL, size_fault
from operators.wire.schema import FrameHeader
from pipelines.execute.byte_budget import ByteBudget

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
