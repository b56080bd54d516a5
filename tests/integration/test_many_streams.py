"""A worker that meets ever new streams keeps the state of a bounded number of them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import pytest

from operators.wire.schema import Result, from_json
from pipelines.settings import StreamBounds
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.worker_parts import CountingAnalyser, Wire, frame_message

pytestmark = pytest.mark.kafka

NAMES = 400
BOUND = 150
"""More than a worker's windows hold at once, so that no stream stays for being busy."""


async def test_every_frame_is_answered_and_most_streams_are_forgotten(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    await wire.send(frame_message(f"camera-{number}", 0) for number in range(NAMES))
    analyser, stop = CountingAnalyser(wire.query), asyncio.Event()
    config = WorkerConfig(wire.broker, wire.query, wire.topics.frames, give_up_s=20, bounds=StreamBounds(BOUND))
    task = asyncio.create_task(run_worker(config, wire.roster(analyser), stop=stop))
    try:
        async with asyncio.timeout(180):
            results = await wire.all_of(wire.topics.results)
            while len(results) < NAMES:
                await asyncio.sleep(0.2)
                results = await wire.all_of(wire.topics.results)
        assert len(analyser.forgotten) == NAMES - BOUND
    finally:
        stop.set()
        await asyncio.wait_for(task, 120)
    answered = Counter(from_json(message.value, Result).stream for message in results)
    assert answered == {f"camera-{number}": 1 for number in range(NAMES)}
    said = [line.partition(":")[0] for line in caplog.messages if "streams" in line]
    assert said == ["more than 150 streams send frames"]
