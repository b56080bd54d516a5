"""Photos of vehicles on frames, for workers whose exits are made while they analyse."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from datasets import vehicle6
from operators.audits.unit_costs import UnitCosts
from operators.frames.codec import encode_frame
from operators.frames.frame import Box, Frame, Region, frame_of
from operators.wire.schema import FRAME_HEADER_KEY, Attribute, FrameId, Result, from_json, to_json
from serving.common.tensors import Image
from tests.integration.worker_parts import Sent, Wire

Found = TypeVar("Found")
SIDE = 4
"""Photos in a row of a frame."""


@pytest.fixture
def every_photo_is_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    async def process(self: object, frame: Frame, regions: object, call: object) -> list[Region]:
        at = [(row / SIDE, column / SIDE) for row in range(SIDE) for column in range(SIDE)]
        return [
            Region(number, "detect", Box(left, top, 1 / SIDE, 1 / SIDE), "moving", 0.9, class_agnostic=True)
            for number, (top, left) in enumerate(at)
        ]

    monkeypatch.setattr("operators.detect.motion.MotionDetector.process", process)
    monkeypatch.setattr("operators.recognise.audits.auditor.BLOCK_S", 0.1)  # each picture shows others


@pytest.fixture
def exits_pay_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learning.budget.FIRST_S", 0.0)
    monkeypatch.setattr(UnitCosts, "network_s", lambda costs, model: 0.05)


def mosaics(data_dir: Path, only: Sequence[str] = ()) -> list[Image]:
    """Photos, of these classes only where some are named."""
    known = vehicle6.load(data_dir / "images" / "vehicle6", "test")
    photos = [photo for photo, name in known if not only or name in only]
    order = np.random.default_rng(0).permutation(len(photos))
    frames = [order[start : start + SIDE**2] for start in range(0, len(order) - SIDE**2, SIDE**2)]
    return [
        np.vstack([np.hstack([photos[each] for each in frame[row : row + SIDE]]) for row in range(0, SIDE**2, SIDE)])
        for frame in frames
    ]


class Camera:
    """Shows pictures one after the other, over and over."""

    def __init__(self, wire: Wire, pictures: Sequence[Image]) -> None:
        self._wire, self._pictures, self._shown = wire, pictures, 0

    async def show(self, count: int) -> None:
        """So many more, once they are answered."""
        await self._wire.send([self._message(seq) for seq in range(self._shown, self._shown + count)])
        self._shown += count
        async with asyncio.timeout(180):
            answered = await self._wire.all_of(self._wire.topics.results)
            while len(answered) < self._shown:
                await asyncio.sleep(0.4)
                answered = await self._wire.all_of(self._wire.topics.results)

    async def shown_until(self, found: Callable[[], Awaitable[list[Found]]]) -> list[Found]:
        """Show pictures until there is something."""
        async with asyncio.timeout(180):
            while not (some := await found()):
                await self.show(8)
        return some

    def _message(self, seq: int) -> Sent:
        frame = frame_of(
            FrameId("gate", "run", seq), self._pictures[seq % len(self._pictures)], seq / 5, datetime.now(UTC)
        )
        header, data = encode_frame(frame)
        return Sent(b"gate", data, ((FRAME_HEADER_KEY, to_json(header)),))


async def answers_of(wire: Wire, provenance: str) -> list[Attribute]:
    """The answers so far that came from exits of a kind."""
    results = [from_json(each.value, Result) for each in await wire.all_of(wire.topics.results)]
    answers = [each.attributes[0] for result in results for each in result.objects]
    return [answer for answer in answers if answer.provenance == provenance]
