"""The motion gates of a worker: what moves goes on, and what cannot be read is not theirs to judge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import cv2
import msgspec
import numpy as np
import pytest

from operators.frames.codec import encode_frame
from operators.testing.builders import make_frame
from operators.wire.schema import FrameHeader
from pipelines.partition.sampling import GATE_BYTES, MotionGates, Thinning
from serving.common.tensors import Image

GATED = Thinning(motion_gate=True)


def picture(left: int | None = None, size: tuple[int, int] = (1280, 720)) -> Image:
    width, height = size
    image = np.full((height, width, 3), 80, np.uint8)
    if left is not None:
        image[height // 2 : height // 2 + 90, left : left + 60] = 200
    noise = np.random.default_rng(left).normal(0, 6, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def sent(seq: int, image: Image) -> tuple[FrameHeader, bytes]:
    return encode_frame(make_frame(seq, seq / 25, image))


async def moving(messages: Iterable[tuple[FrameHeader, bytes]]) -> list[int]:
    gates = MotionGates()
    still = await asyncio.gather(*(gates.still(GATED, *message) for message in messages))
    return [message[0].seq for message, left_out in zip(messages, still, strict=True) if not left_out]


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (640, 360), (300, 200)])
async def test_only_frames_in_which_something_moves_pass_the_gate(size: tuple[int, int]) -> None:
    lefts = [None, None, 20, 20, 20, 100, None, None]
    messages = [sent(seq, picture(left, size)) for seq, left in enumerate(lefts)]
    assert await moving(messages) == [0, 2, 5, 6]


async def test_raw_frames_pass_the_gate_by_the_same_rule() -> None:
    frames = [make_frame(seq, 0.0, picture(left)) for seq, left in enumerate([None, None, 20])]
    messages = [(frame.header, frame.pixels.tobytes()) for frame in frames]
    assert await moving(messages) == [0, 2]


async def test_what_capture_has_held_back_or_cannot_be_read_goes_on() -> None:
    head, jpeg = sent(0, picture())
    gated = msgspec.structs.replace(head, motion_gate=True)
    nothing = msgspec.structs.replace(head, encoding="none")
    wrong = msgspec.structs.replace(head, width=5, height=5)
    damaged = [(head, b"no jpeg"), (head, jpeg[: len(jpeg) // 2]), (wrong, jpeg), (head, b"")]
    gates = MotionGates()
    for each in [(gated, jpeg), (gated, jpeg), (nothing, b""), *damaged]:
        assert not await gates.still(GATED, *each)
    assert not await gates.still(GATED, head, jpeg), "it is the first that the gate sees"
    assert await gates.still(GATED, head, jpeg)
    assert not await gates.still(Thinning(5, True), head, jpeg), "another thinning has another gate"


async def test_what_takes_too_much_memory_passes_the_gate_unseen() -> None:
    side = 4000
    assert side * side * 9 > GATE_BYTES
    encoded, data = cv2.imencode(".jpg", np.zeros((side, side, 3), np.uint8))
    assert encoded
    head = msgspec.structs.replace(sent(0, picture())[0], width=side, height=side)
    gates = MotionGates()
    assert not await gates.still(GATED, head, data.tobytes())
    assert not await gates.still(GATED, head, data.tobytes())


async def test_a_stream_that_is_forgotten_or_moved_begins_anew() -> None:
    gates, message = MotionGates(), sent(0, picture())
    assert [await gates.still(GATED, *message) for _ in range(2)] == [False, True]
    gates.forget("cam")
    assert [await gates.still(GATED, *message) for _ in range(2)] == [False, True]
    gates.begin_anew()
    assert [await gates.still(GATED, *message) for _ in range(2)] == [False, True]
