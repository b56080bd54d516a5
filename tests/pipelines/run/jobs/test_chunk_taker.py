"""What a worker hears of its broker between two chunks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from operators.wire.jobs import JobOrder, RecordingChunk
from pipelines.kafka import async_clients
from pipelines.run.jobs.chunk_taker import ChunkTaker
from pipelines.settings import BrokerSettings
from serving.common.retrying import Backoff


def taker() -> ChunkTaker:
    return ChunkTaker(BrokerSettings(("127.0.0.1:1",)), "jobs", "group")


async def test_a_chunk_that_comes_while_others_are_acknowledged_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Any = {
        "query": "q",
        "source": "a.mp4",
        "stream": "a",
        "form": "jsonl",
        "number": 1,
        "of": 1,
        "recordings": 1,
    }
    order = JobOrder(job="night", at=datetime.now(UTC), chunk=RecordingChunk(**whole, from_s=0.0, to_s=None))
    one = taker()

    async def acknowledge() -> None:
        if one._pending.first() is None:  # the reader has its turn while the broker answers
            one._pending.take(0, 0, order, 10)
            one._news.set()

    monkeypatch.setattr(one, "_acknowledge", acknowledge)
    async with asyncio.timeout(5):
        assert (await one.next(None)).job == "night"


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
    async with asyncio.timeout(5):
        while tries < 3:  # noqa: ASYNC110 - the taker does not tell
            await asyncio.sleep(0.01)
    task.cancel()
    assert caplog.text.count("taking chunks from topic jobs breaks off (AssertionError") == 1
