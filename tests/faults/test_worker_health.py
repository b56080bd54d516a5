"""What `sluice health` says of a worker that has something to do and does not do it, and of one that recovers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from operators.frames.frame import Frame
from operators.observer import Observers
from operators.wire.schema import FrameHeader, Result
from pipelines.health.heartbeat import INTERVAL_S, MAX_AGE_S, ailment
from pipelines.observe.watchers import HeartbeatFile
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.test_worker import results_of
from tests.integration.worker_parts import PARTITIONS, CountingAnalyser, Wire, frame_message, plain
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

STALLED_AFTER_S = 3.0


class Hanging(CountingAnalyser):
    """Answers no frame before it is told to."""

    def __init__(self, query: str) -> None:
        super().__init__(query)
        self.goes_on = asyncio.Event()

    async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
        await self.goes_on.wait()
        return await super().submit(header, load)


@pytest.fixture
def wire(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> Wire:
    return Wire(plain(kafka_broker), topic_prefix)


@asynccontextmanager
async def watched(wire: Wire, analyser: CountingAnalyser, alive: Path) -> AsyncIterator[None]:
    """A worker inside the block, which must stop cleanly at its end."""
    stop = asyncio.Event()
    config = WorkerConfig(
        wire.broker,
        wire.query,
        wire.topics.frames,
        give_up_s=60,
        observers=Observers([HeartbeatFile(alive)]),
        stalled_after_s=STALLED_AFTER_S,
    )
    task = asyncio.create_task(run_worker(config, wire.roster(analyser), stop=stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, 120)


async def says(alive: Path, words: str | None) -> str:
    """What is said of a worker's health, once it is this."""
    async with asyncio.timeout(180):
        while True:
            said = ailment(alive, MAX_AGE_S, time.time())
            if said is None if words is None else words in (said or ""):
                return said or ""
            await asyncio.sleep(0.1)


async def test_a_stall_has_its_reason_until_it_ends(
    wire: Wire, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alive, analyser = tmp_path / "alive", Hanging(wire.query)
    caplog.set_level(logging.INFO, "pipelines")
    async with watched(wire, analyser, alive):
        await says(alive, None)
        await wire.send(frame_message("camera", seq) for seq in range(5))
        said = await says(alive, "wait and none has been acknowledged for")
        assert f"topic {wire.topics.frames} partition " in said
        assert "5 messages" in said
        while int(said.split("acknowledged for ")[1].split()[0]) < 5:
            await asyncio.sleep(0.1)
            said = await says(alive, "acknowledged for")
        analyser.goes_on.set()
        await says(alive, None)
        await results_of(wire, 5)
    assert sum("not healthy: topic" in line for line in caplog.messages) == 1
    assert "healthy again" in caplog.messages


async def test_a_worker_without_work_is_well(wire: Wire, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    await wire.send(frame_message("camera", seq) for seq in range(5))
    async with watched(wire, CountingAnalyser(wire.query), alive):
        await results_of(wire, 5)
        await asyncio.sleep(2 * STALLED_AFTER_S)
        await says(alive, None)


@pytest.mark.parametrize("more", [5, 60], ids=["shorter", "longer"])
async def test_a_topic_made_anew_is_read_from_its_beginning(
    wire: Wire, tmp_path: Path, caplog: pytest.LogCaptureFixture, more: int
) -> None:
    alive = tmp_path / "alive"
    caplog.set_level(logging.INFO, "pipelines")
    await wire.send(frame_message("camera", seq) for seq in range(30))
    async with watched(wire, CountingAnalyser(wire.query), alive):
        await results_of(wire, 30)
        await asyncio.to_thread(make_anew, wire)
        await wire.send(frame_message("camera", seq, run="second") for seq in range(more))
        results = await results_of(wire, 30 + more)
        await says(alive, None)
    assert [result.seq for result in results if result.run == "second"] == list(range(more))
    assert sum("starting again" in line for line in caplog.messages) in (1, 2, 3)


async def test_a_position_beyond_the_end_is_given_up(wire: Wire, tmp_path: Path) -> None:
    """As it is left by a topic that was cut short while no worker ran."""
    await asyncio.to_thread(commit, wire, 1000)
    await wire.send(frame_message("camera", seq) for seq in range(10))
    async with watched(wire, CountingAnalyser(wire.query), tmp_path / "alive"):
        results = await results_of(wire, 10)
        await wire.send(frame_message("camera", seq) for seq in range(10, 20))
        results = await results_of(wire, 20)
    async with watched(wire, CountingAnalyser(wire.query), tmp_path / "alive"):
        await wire.send(frame_message("camera", seq) for seq in range(20, 30))
        results = await results_of(wire, 30)
    assert [result.seq for result in results] == list(range(30))


def make_anew(wire: Wire) -> None:
    admin = KafkaAdminClient(bootstrap_servers=list(wire.broker.servers))
    try:
        admin.delete_topics([wire.topics.frames])
        while wire.topics.frames in admin.list_topics():
            time.sleep(0.05)
        admin.create_topics(
            {wire.topics.frames: {"num_partitions": PARTITIONS, "replication_factor": 1}}, wait_for_metadata=True
        )
    finally:
        admin.close()


def commit(wire: Wire, offset: int) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=list(wire.broker.servers), group_id=f"sluice.{wire.query}", enable_auto_commit=False
    )
    places = [TopicPartition(wire.topics.frames, number) for number in range(PARTITIONS)]
    consumer.assign(places)
    consumer.commit({place: OffsetAndMetadata(offset, "", -1) for place in places})
    consumer.close()


async def test_the_worker_beats_only_while_its_loop_turns_and_its_app_runs(wire: Wire, tmp_path: Path) -> None:
    path, stop = tmp_path / "alive", asyncio.Event()
    config = WorkerConfig(wire.broker, wire.query, wire.topics.frames, observers=Observers([HeartbeatFile(path)]))
    worker = asyncio.create_task(run_worker(config, wire.roster(CountingAnalyser(wire.query)), stop=stop))
    await _exists(path)

    path.unlink()
    time.sleep(2 * INTERVAL_S)  # noqa: ASYNC251  what hangs the loop
    assert not path.exists()
    await _exists(path)

    stop.set()
    await worker
    path.unlink()
    await asyncio.sleep(2 * INTERVAL_S)
    assert not path.exists()


async def _exists(path: Path) -> None:
    async with asyncio.timeout(60):
        while not path.exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.05)
