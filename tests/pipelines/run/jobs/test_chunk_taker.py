"""What a worker hears of its broker between two chunks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import ConsumerRecord

from operators.wire.jobs import JobOrder, RecordingChunk
from pipelines.kafka import async_clients
from pipelines.run.jobs.chunk_taker import ChunkTaker
from pipelines.settings import BrokerSettings
from serving.common.retrying import Backoff


def taker() -> ChunkTaker:
    return ChunkTaker(BrokerSettings(("127.0.0.1:1",)), "jobs", "group")


def order(number: int = 1, of: int = 1) -> JobOrder:
    whole: Any = {"query": "q", "source": "a.mp4", "stream": "a", "form": "jsonl", "of": of, "recordings": 1}
    from_s, to_s = 60.0 * (number - 1), None if number == of else 60.0 * number
    chunk = RecordingChunk(**whole, number=number, from_s=from_s, to_s=to_s)
    return JobOrder(job="night", at=datetime.now(UTC), chunk=chunk)


async def test_a_chunk_that_comes_while_others_are_acknowledged_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    one = taker()

    async def acknowledge() -> None:
        if one._pending.first() is None:  # the reader has its turn while the broker answers
            one._pending.take(0, 0, order(), 10)
            one._news.set()

    monkeypatch.setattr(one, "_acknowledge", acknowledge)
    async with asyncio.timeout(120):
        assert (await one.next(None)).job == "night"


async def test_a_recording_goes_on_in_its_next_chunk_whatever_comes_while_the_last_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = taker()

    async def acknowledge() -> None:
        one._take(ConsumerRecord("jobs", 1, 0, 0, 0, b"", b"of somebody else", None, 0, 16, ()))

    for number in (1, 2):
        one._pending.take(0, number, order(number, 2), 10)
    lease = await one.next(None)
    monkeypatch.setattr(one, "_acknowledge", acknowledge)
    following = await one.done(lease)
    assert following is not None
    assert following.chunk.number == 2
    assert not one.put_down.is_set()


async def test_an_error_that_nobody_foresaw_makes_jobs_wait_and_live_frames_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 0

    async def read() -> None:
        nonlocal tries
        tries += 1
        raise AssertionError

    one = taker()
    monkeypatch.setattr(one, "_read", read)
    monkeypatch.setattr(async_clients, "BROKER_BACKOFF", Backoff(0.001, 0.1))
    task = asyncio.create_task(one.run())
    async with asyncio.timeout(120):
        while tries < 3:  # noqa: ASYNC110 - the taker does not tell
            await asyncio.sleep(0.01)
    task.cancel()
    assert caplog.text.count("taking chunks from topic jobs breaks off (AssertionError") == 1
