"""Decoded frames of many streams under one bound, with real pictures through the executor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import pytest

from operators.base import Call
from operators.frames.codec import DECODING_BYTES_PER_PIXEL, FrameError, decode_frame, encode_frame
from operators.frames.frame import Frame, Region, frame_of
from operators.wire.schema import FrameHeader, FrameId, Result
from pipelines.assembly.parts import frame_room
from pipelines.execute.executor import Executor
from pipelines.execute.frame_room import ByteBudget, FrameRoom
from pipelines.execute.surroundings import ALONE, Limits
from pipelines.planning.planner import Planner
from pipelines.query.dag import compile_dag
from pipelines.query.draft import load_query
from pipelines.query.query_file import Query
from tests.turns import turns

WIDTH, HEIGHT = 640, 480
ONE_FRAME = WIDTH * HEIGHT * DECODING_BYTES_PER_PIXEL


class Counts:
    """Holds each frame for a moment and counts how many are held at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        self.now += 1
        self.most = max(self.most, self.now)
        await turns()
        self.now -= 1
        return []

    def forget(self, stream: str) -> None:
        pass


@pytest.fixture
def query(tmp_path: Path) -> Query:
    path = tmp_path / "query.yaml"
    path.write_text(
        "version: 1\nname: test\nslo_ms: 1000\n"
        "streams: [{uri: a.mp4, id: small, max_width: 640}, {uri: b.mp4, id: large, max_width: 3840}]\n"
        "nodes: [{name: find, task: detect, model: motion}]\n"
    )
    return load_query(path)


def jpeg(stream: str, width: int = WIDTH, height: int = HEIGHT) -> tuple[FrameHeader, bytes]:
    image = np.zeros((height, width, 3), np.uint8)
    return encode_frame(frame_of(FrameId(stream, "run", 0), image, 0.0, datetime.now(UTC)))


async def analyse(query: Query, counts: Counts, room: FrameRoom, streams: int) -> list[Result]:
    executor = Executor(compile_dag(query), {"find": counts}, Planner(), Limits(room=room), ALONE)
    frames = [jpeg(f"cam{number}") for number in range(streams)]
    submitted = [executor.submit(header, lambda h=header, d=data: decode_frame(h, d)) for header, data in frames]
    return await asyncio.gather(*submitted)


async def test_frames_of_many_streams_wait_for_each_other(query: Query) -> None:
    counts, budget = Counts(), ByteBudget(2 * ONE_FRAME)
    results = await analyse(query, counts, FrameRoom(budget), streams=30)
    assert [result.outcome for result in results] == ["analysed"] * 30
    assert 2 <= counts.most <= 6, "decoded frames take a third of what decoding takes"
    assert budget.left_bytes == budget.total_bytes


async def test_a_frame_beyond_the_whole_budget_fails_alone(query: Query) -> None:
    executor = Executor(
        compile_dag(query), {"find": Counts()}, Planner(), Limits(room=FrameRoom(ByteBudget(ONE_FRAME - 1))), ALONE
    )
    header, data = jpeg("cam")
    with pytest.raises(FrameError, match=r"640×480 pixels takes 3 MiB.*raise SLUICE_DECODED_MEMORY") as caught:
        await executor.submit(header, lambda: decode_frame(header, data))
    assert caught.value.reason == "image_too_large"
    small, pixels = jpeg("cam", 320, 240)
    assert (await executor.submit(small, lambda: decode_frame(small, pixels))).outcome == "analysed"


async def test_what_fails_gives_its_room_back(query: Query) -> None:
    budget = ByteBudget(ONE_FRAME)
    executor = Executor(compile_dag(query), {"find": Counts()}, Planner(), Limits(room=FrameRoom(budget)), ALONE)
    header, data = jpeg("cam")
    for _ in range(3):
        with pytest.raises(FrameError, match="end marker"):
            await executor.submit(header, lambda: decode_frame(header, data[:-40]))
    assert budget.left_bytes == ONE_FRAME


@pytest.mark.parametrize(
    ("stream", "width", "height", "refused"),
    [
        ("small", 640, 480, False),
        ("small", 641, 480, True),
        ("small", 640, 2560, False),
        ("small", 640, 2561, True),
        ("large", 3840, 2160, False),
        ("unnamed", 3840, 2160, False),
        ("unnamed", 3841, 2160, True),
    ],
)
async def test_frames_are_no_larger_than_capture_would_send(
    query: Query, stream: str, width: int, height: int, refused: bool
) -> None:
    header = msgspec.structs.replace(jpeg(stream)[0], width=width, height=height)
    with pytest.raises(FrameError, match="max_width") if refused else nullcontext():
        async with frame_room([query]).taken(header):
            pass
