from __future__ import annotations

import gc
from collections import defaultdict
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from operators.publish.frame_buffer import (
    CAPTURE_BUFFER_FULL,
    MESSAGE_TOO_LARGE,
    OVERHEAD_BYTES,
    FrameBuffer,
    FrameMessage,
)
from operators.wire.schema import FrameHeader


def message(stream: str, seq: int, image_bytes: int) -> FrameMessage:
    header = FrameHeader(
        stream=stream,
        run="run",
        seq=seq,
        width=64,
        height=48,
        media_time_s=seq / 10,
        captured_at=datetime(2026, 1, 1, tzinfo=UTC),
        encoding="jpeg",
    )
    return FrameMessage(header, bytes(image_bytes))


def drain(buffer: FrameBuffer) -> list[FrameMessage]:
    out = []
    while (taken := buffer.take()) is not None:
        out.append(taken)
        buffer.sent(taken.header.stream)
    return out


def held(buffer: FrameBuffer) -> list[FrameMessage]:
    """Every message that the buffer keeps alive, wherever it keeps it."""
    seen: dict[int, object] = {}
    found: list[object] = [buffer]
    while found:
        each = found.pop()
        if id(each) not in seen and not isinstance(each, type):
            seen[id(each)] = each
            found += gc.get_referents(each)
    return [each for each in seen.values() if isinstance(each, FrameMessage)]


def causes(messages: list[FrameMessage]) -> list[str | None]:
    return [each.header.cause for each in messages]


def test_the_oldest_image_goes_first_and_its_header_stays() -> None:
    buffer = FrameBuffer(3 * (OVERHEAD_BYTES + 1000))
    for seq in range(4):
        assert buffer.put(message("gate", seq, 1000), droppable=True)
    out = drain(buffer)
    assert [each.header.seq for each in out] == [0, 1, 2, 3]
    assert causes(out)[0] == CAPTURE_BUFFER_FULL
    assert out[0].header.encoding == "none"
    assert len(out[-1].image) == 1000


def test_the_oldest_of_all_streams_that_may_be_dropped() -> None:
    buffer = FrameBuffer(4 * (OVERHEAD_BYTES + 1000))
    buffer.put(message("file", 0, 1000), droppable=False)
    buffer.put(message("gate", 0, 1000), droppable=True)
    buffer.put(message("yard", 0, 1000), droppable=True)
    buffer.put(message("gate", 1, 1000), droppable=True)
    assert buffer.put(message("file", 1, 1500), droppable=False)
    dropped = {(each.header.stream, each.header.seq) for each in drain(buffer) if each.header.cause}
    assert dropped == {("gate", 0), ("yard", 0), ("gate", 1)}


def test_what_may_not_be_dropped_waits_for_room() -> None:
    buffer = FrameBuffer(2 * (OVERHEAD_BYTES + 1000))
    assert buffer.put(message("file", 0, 1000), droppable=False)
    assert buffer.put(message("file", 1, 1000), droppable=False)
    assert not buffer.put(message("file", 2, 1000), droppable=False)
    assert buffer.take() is not None
    buffer.sent("file")
    assert buffer.put(message("file", 2, 1000), droppable=False)
    assert causes(drain(buffer)) == [None, None]


def test_an_empty_buffer_takes_anything() -> None:
    buffer = FrameBuffer(10)
    assert buffer.put(message("file", 0, 5000), droppable=False)
    assert len(drain(buffer)[0].image) == 5000


def test_a_message_on_its_way_keeps_its_image() -> None:
    buffer = FrameBuffer(2 * (OVERHEAD_BYTES + 1000) + OVERHEAD_BYTES)
    buffer.put(message("gate", 0, 1000), droppable=True)
    out = buffer.take()
    buffer.put(message("gate", 1, 1000), droppable=True)
    buffer.put(message("gate", 2, 500), droppable=True)
    assert out is not None
    assert out.image
    buffer.sent("gate")
    assert causes(drain(buffer)) == [CAPTURE_BUFFER_FULL, None]


def test_of_one_stream_only_one_message_is_out_and_a_failed_one_comes_again_first() -> None:
    buffer = FrameBuffer(1 << 20)
    for seq in range(2):
        buffer.put(message("gate", seq, 10), droppable=True)
    first = buffer.take()
    assert first is not None
    assert buffer.take() is None
    buffer.failed("gate")
    assert buffer.take() == first


def test_a_refused_message_goes_as_a_header_before_its_successors() -> None:
    buffer = FrameBuffer(1 << 20)
    for seq in range(2):
        buffer.put(message("gate", seq, 1000), droppable=False)
    buffer.take()
    buffer.refused("gate")
    out = drain(buffer)
    assert [each.header.seq for each in out] == [0, 1]
    assert causes(out) == [MESSAGE_TOO_LARGE, None]
    assert buffer.size_bytes == 0


@pytest.mark.parametrize("droppable", [True, False])
def test_what_was_sent_is_let_go_of_though_the_buffer_is_never_full(droppable: bool) -> None:
    buffer = FrameBuffer(1 << 20)
    for seq in range(500):
        buffer.put(message("gate", seq, 1000), droppable)
        buffer.take()
        if seq % 3 == 0:
            buffer.failed("gate")
            buffer.take()
        buffer.sent("gate")
    assert held(buffer) == []


class AnyUse(RuleBasedStateMachine):
    """Whatever is put, sent, failed and refused in whatever order: bounded, in order, each frame exactly once."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = FrameBuffer(8 * OVERHEAD_BYTES)
        self.accepted: dict[str, list[tuple[int, bool]]] = defaultdict(list)
        self.delivered: dict[str, list[FrameMessage]] = defaultdict(list)
        self.next_seq: dict[str, int] = defaultdict(int)
        self.out: dict[str, FrameMessage] = {}
        self.refused: set[tuple[str, int]] = set()

    @rule(stream=st.sampled_from("abc"), size=st.integers(0, 5000), droppable=st.booleans())
    def put(self, stream: str, size: int, droppable: bool) -> None:
        seq = self.next_seq[stream]
        was_empty = len(self.buffer) == 0
        if self.buffer.put(message(stream, seq, size), droppable):
            self.next_seq[stream] += 1
            self.accepted[stream].append((seq, droppable))
            assert was_empty or self.buffer.size_bytes <= self.buffer.max_bytes

    @rule()
    def take(self) -> None:
        taken = self.buffer.take()
        if taken is not None:
            assert taken.header.stream not in self.out
            self.out[taken.header.stream] = taken

    @rule(data=st.data(), how=st.sampled_from(["sent", "failed", "refused"]))
    def answer(self, data: st.DataObject, how: str) -> None:
        if not self.out:
            return
        stream = data.draw(st.sampled_from(sorted(self.out)))
        taken = self.out.pop(stream)
        if how == "sent":
            self.delivered[stream].append(taken)
        if how == "refused":
            self.refused.add((stream, taken.header.seq))
        getattr(self.buffer, how)(stream)

    @invariant()
    def keeps_nothing_that_has_left(self) -> None:
        assert sum(each.size_bytes for each in held(self.buffer)) == self.buffer.size_bytes

    @invariant()
    def in_order_and_only_the_droppable_without_image(self) -> None:
        for stream, messages in self.delivered.items():
            assert [each.header.seq for each in messages] == list(range(len(messages)))
            for each in messages:
                droppable = self.accepted[stream][each.header.seq][1]
                if each.header.cause == CAPTURE_BUFFER_FULL:
                    assert droppable
                if each.header.cause == MESSAGE_TOO_LARGE:
                    assert (stream, each.header.seq) in self.refused

    def teardown(self) -> None:
        for stream in list(self.out):
            self.buffer.sent(stream)
            self.delivered[stream].append(self.out[stream])
        for each in drain(self.buffer):
            self.delivered[each.header.stream].append(each)
        self.in_order_and_only_the_droppable_without_image()
        assert {stream: len(messages) for stream, messages in self.delivered.items()} == {
            stream: count for stream, count in self.next_seq.items() if count
        }
        assert self.buffer.size_bytes == 0
        assert len(self.buffer) == 0


TestAnyUse = AnyUse.TestCase


@given(sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=60))
def test_images_are_given_up_from_the_oldest_on(sizes: list[int]) -> None:
    buffer = FrameBuffer(64 * OVERHEAD_BYTES)
    for seq, size in enumerate(sizes):
        assert buffer.put(message("gate", seq, size), droppable=True)
    kept = [each.header.cause is None for each in drain(buffer) if sizes[each.header.seq] > 0]
    assert kept == sorted(kept)


@pytest.mark.parametrize("droppable", [True, False])
def test_headers_alone_wait_when_nothing_more_can_be_given_up(droppable: bool) -> None:
    buffer = FrameBuffer(2 * OVERHEAD_BYTES)
    assert buffer.put(message("gate", 0, 0), droppable)
    assert buffer.put(message("gate", 1, 0), droppable)
    assert not buffer.put(message("gate", 2, 0), droppable)
