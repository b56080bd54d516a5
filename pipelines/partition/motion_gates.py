"""The motion gates of a worker's streams: queries that thin a stream alike have one, and see the same frames."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from operators.capture.picture import MotionGate, thumbnail_of
from operators.frames.codec import DECODING_BYTES_PER_PIXEL, FrameError
from operators.wire.schema import FrameHeader
from pipelines.execute.frame_room import ByteBudget
from pipelines.partition.sampling import Thinning
from serving.common.threads import in_thread

GATE_BYTES: Final = 96 << 20
"""For all JPEGs that are decoded for gates at once, as if they were decoded whole; a larger one goes on unseen."""


@dataclass(slots=True)
class _Gate:
    passes: MotionGate = field(default_factory=MotionGate)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class MotionGates:
    """Says in which frames nothing moves; for each stream in the order of the calls."""

    def __init__(self) -> None:
        self._streams: dict[str, dict[Thinning, _Gate]] = {}
        self._memory = ByteBudget(GATE_BYTES)

    async def still(self, thinning: Thinning, header: FrameHeader, data: bytes) -> bool:
        """Whether nothing moves in a frame that is left after ``thinning`` by rate.

        A picture that cannot be read goes on: what is wrong with it is told where it is decoded.
        """
        gate = self._streams.setdefault(header.stream, {}).setdefault(thinning, _Gate())
        async with gate.turn:
            size_bytes = 0 if header.raw else header.width * header.height * DECODING_BYTES_PER_PIXEL
            if header.encoding == "none" or header.motion_gate is True or size_bytes > GATE_BYTES:
                return False
            await self._memory.take(size_bytes)
            try:
                return not gate.passes.passes(await in_thread(lambda: thumbnail_of(header, data)))
            except FrameError:
                return False
            finally:
                self._memory.give(size_bytes)

    def begin_anew(self) -> None:
        """Note that partitions moved: what was in work may come again, and passes again."""
        self._streams.clear()

    def forget(self, stream: str) -> None:
        """Drop the gates of a stream."""
        self._streams.pop(stream, None)
