"""What a worker leaves behind when it, or the broker, dies: its successor repeats none of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.accounts import content
from tests.integration.test_worker import results_of, working
from tests.integration.worker_parts import CountingAnalyser, Wire, frame_message, plain
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def worker_process(
    bootstrap: str, prefix: str, work_s: float, memory: str | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """``memory``: the topic on which it keeps what it learns."""
    words = [bootstrap, prefix, str(work_s), *([memory] if memory else [])]
    command = [sys.executable, "-m", "tests.faults.worker_process", *words]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


async def test_after_a_kill_every_frame_has_one_result(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str
) -> None:
    wire = Wire(plain(kafka_broker), topic_prefix)
    streams = [f"camera-{number}" for number in range(8)]
    await wire.send(frame_message(stream, seq) for seq in range(100) for stream in streams)
    with worker_process(kafka_broker.bootstrap, topic_prefix, 0.2) as process:
        await results_of(wire, 150)
        process.kill()
        process.wait(60)
        before = len(await wire.all_of(wire.topics.results))
    assert before < 800, "killed in mid-stream"
    async with working(wire, CountingAnalyser(wire.query)):
        results = await results_of(wire, 800)

    found = Counter((result.stream, result.run, result.seq) for result in results)
    assert set(found) == {(stream, "run", seq) for stream in streams for seq in range(100)}
    assert set(found.values()) == {1}, "frames answered before the kill are not answered again"


async def test_a_broker_that_restarts_in_mid_stream_costs_nothing(
    own_kafka_broker: KafkaBroker, topic_prefix: str
) -> None:
    wire = Wire(plain(own_kafka_broker), topic_prefix)
    await wire.send(frame_message(f"camera-{seq % 4}", seq) for seq in range(400))
    analyser = CountingAnalyser(wire.query, work_s=0.05)
    async with working(wire, analyser):
        await results_of(wire, 60)
        await asyncio.to_thread(own_kafka_broker.stop)
        await asyncio.sleep(12)  # longer than the group's session
        await asyncio.to_thread(own_kafka_broker.start)
        await wire.send(frame_message(f"camera-{seq % 4}", seq) for seq in range(400, 500))
        results = await results_of(wire, 500)
        async with asyncio.timeout(180):
            while len({result.seq for result in results}) < 500:
                results = await results_of(wire, len(results) + 1)

    # What was on its way when the broker went may have been stored without the worker being told: it is sent again.
    times = Counter(result.seq for result in results)
    said = {(result.seq, content(result)) for result in results}
    assert len(said) == 500, "what comes twice says the same"
    assert [seq for seq, n in times.items() if n > 1 and analyser.seen[f"camera-{seq % 4}", seq] > 1] == [], (
        "no frame that has a result is analysed again"
    )
