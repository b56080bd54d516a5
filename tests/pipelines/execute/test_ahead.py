"""Frames that wait behind the one at hand: which are shown, how long the next is waited for, and what they may take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from operators.frames.codec import FrameError
from operators.frames.frame import Frame
from operators.testing.builders import make_frame
from operators.wire.schema import FrameHeader
from pipelines.execute.ahead import BYTES_AHEAD, FRAMES_AHEAD, PATIENCE_S, VAIN, Waiting, in_memory
from tests.fake_clock import FakeClock
from tests.turns import turns

FPS = 10


def header(seq: int, run: str = "one", encoding: str = "bgr24", width: int = 8) -> FrameHeader:
    return FrameHeader(
        stream="cam",
        run=run,
        seq=seq,
        width=width,
        height=8,
        media_time_s=seq / FPS,
        captured_at=datetime.now(UTC),
        encoding=encoding,  # type: ignore[arg-type]
    )


class Bench:
    """A stream whose frames arrive as the test says; frame 0 is at hand."""

    def __init__(self, begun: FrameHeader | None = None) -> None:
        self.clock = FakeClock()
        self.waiting = Waiting(self.clock)
        self.waiting.begun(begun or header(0))

    def arrive(self, *seqs: int, run: str = "one", broken: bool = False) -> None:
        for seq in seqs:

            def load(seq: int = seq) -> Frame:
                if broken:
                    raise FrameError("undecodable_image", "no")
                return make_frame(seq, seq / FPS, run=run)

            self.waiting.arrived(header(seq, run), load)

    def ask(self, until_s: float) -> asyncio.Future[Sequence[Frame]]:
        return asyncio.ensure_future(self.waiting.until(until_s))


def seqs(frames: Sequence[Frame]) -> list[int]:
    return [frame.seq for frame in frames]


async def test_frames_to_the_first_at_the_time_are_given_at_once() -> None:
    bench = Bench()
    bench.arrive(1, 2, 3, 4, 5, 6)
    assert seqs(await bench.waiting.until(0.35)) == [1, 2, 3, 4]
    assert seqs(await bench.waiting.until(0.05)) == [1]


async def test_a_frame_that_has_not_come_is_waited_for() -> None:
    bench = Bench()
    bench.arrive(1)
    asked = bench.ask(0.3)
    for seq in (2, 3):
        await turns()
        assert not asked.done()
        bench.clock.advance(0.9 * PATIENCE_S)
        bench.arrive(seq)
    assert seqs(await asked) == [1, 2, 3]


async def test_a_stream_that_has_ended_is_given_up_soon_and_not_waited_for_again() -> None:
    bench = Bench()
    bench.arrive(1, 2)
    asked = bench.ask(1.0)
    await turns()
    bench.clock.advance(PATIENCE_S)
    assert seqs(await asked) == [1, 2]
    assert seqs(await bench.waiting.until(1.0)) == [1, 2]
    bench.waiting.begun(header(1))
    bench.waiting.begun(header(2))
    again = bench.ask(1.0)
    await turns()
    bench.clock.advance(PATIENCE_S)
    assert seqs(await again) == []


async def test_after_a_while_it_is_waited_again() -> None:
    bench = Bench()
    first = bench.ask(1.0)
    await turns()
    bench.clock.advance(PATIENCE_S)
    assert await first == []
    for _ in range(VAIN - 1):
        assert await bench.waiting.until(1.0) == []
    later = bench.ask(0.1)
    await turns()
    assert not later.done()
    bench.arrive(1)
    assert seqs(await later) == [1]


async def test_a_new_run_ends_the_look_at_once() -> None:
    bench = Bench()
    bench.arrive(1, 2)
    bench.arrive(0, 1, run="two")
    assert seqs(await bench.waiting.until(9.0)) == [1, 2]


async def test_frames_that_have_had_their_turn_or_were_given_up_are_gone() -> None:
    bench = Bench()
    bench.arrive(1, 2, 3)
    bench.waiting.begun(header(1))
    bench.waiting.gone(header(2))
    bench.waiting.gone(header(2))
    assert seqs(await bench.waiting.until(0.3)) == [3]


async def test_a_frame_that_cannot_be_loaded_ends_the_look() -> None:
    bench = Bench()
    bench.arrive(1)
    bench.arrive(2, broken=True)
    bench.arrive(3)
    assert seqs(await bench.waiting.until(0.3)) == [1]


async def test_nothing_is_seen_behind_a_frame_that_must_be_decoded() -> None:
    bench = Bench(header(0, encoding="jpeg"))
    bench.arrive(1, 2)
    assert await bench.waiting.until(0.2) == []


async def test_no_more_frames_are_waited_for_than_may_be_in_memory() -> None:
    wide = BYTES_AHEAD // (3 * 8 * 4)
    bench = Bench(header(0, width=wide))
    bench.arrive(1, 2, 3)
    assert seqs(await bench.waiting.until(9.0)) == [1, 2, 3]


@pytest.mark.parametrize(("size_bytes", "frames"), [(0, FRAMES_AHEAD), (BYTES_AHEAD // 5, 5), (2 * BYTES_AHEAD, 1)])
def test_what_may_be_in_memory_falls_with_the_size(size_bytes: int, frames: int) -> None:
    assert in_memory(size_bytes) == frames
