"""A worker whose process is frozen for longer than its session, as by a laptop's lid, and wakes again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from operators.wire.schema import Result, from_json
from tests.integration.worker_parts import Wire, frame_message, plain
from tests.real.kafka import KafkaBroker, require_jars

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).resolve().parents[2]
SESSION_S = 2.0
STREAMS = 4


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """Allows short sessions."""
    require_jars()
    with KafkaBroker(properties={"group.min.session.timeout.ms": "1000"}) as broker:
        yield broker


@pytest.fixture
def wire(broker: KafkaBroker, topic_prefix: str) -> Wire:
    return Wire(plain(broker), topic_prefix)


class Worker:
    """A worker's process and what it says."""

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        words = [broker.bootstrap, prefix, "0.01", "", str(SESSION_S)]
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  the test's
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.worker_process", *words], cwd=ROOT, stderr=self._said
        )

    async def freeze(self, seconds: float) -> None:
        self.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    async def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.to_thread(self.process.wait, 60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._said.close()

    @property
    def said(self) -> str:
        self._said.seek(0)
        return self._said.read()


@pytest.fixture
def worker(broker: KafkaBroker, topic_prefix: str, wire: Wire) -> Iterator[Worker]:
    worker = Worker(broker, topic_prefix)
    yield worker
    worker.kill()


another = worker


class Camera:
    """Frames that come all the while."""

    sent = 0

    @asynccontextmanager
    async def running(self, wire: Wire) -> AsyncIterator[None]:
        task = asyncio.create_task(self._send(wire))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _send(self, wire: Wire) -> None:
        while True:
            await asyncio.shield(self._some(wire))
            await asyncio.sleep(0.2)

    async def _some(self, wire: Wire) -> None:
        seqs = range(self.sent, self.sent + 5)
        self.sent += len(seqs)
        await wire.send(frame_message(f"camera-{stream}", seq) for seq in seqs for stream in range(STREAMS))


async def answered(wire: Wire, worker: Worker, seqs: int) -> Counter[tuple[str, int]]:
    """How often each frame was answered, once all are."""
    async with asyncio.timeout(180):
        while True:
            results = [from_json(message.value, Result) for message in await wire.all_of(wire.topics.results)]
            found = Counter((result.stream, result.seq) for result in results)
            if len(found) >= seqs * STREAMS:
                return found
            assert worker.process.poll() is None, worker.said
            await asyncio.sleep(0.5)


async def test_a_woken_worker_goes_on(wire: Wire, worker: Worker) -> None:
    camera = Camera()
    async with camera.running(wire):
        await answered(wire, worker, 5)
        for pause_s in (0.3, 1.2, 2.1):
            await worker.freeze(2 * SESSION_S)
            await asyncio.sleep(pause_s)
    await asyncio.sleep(0.5)
    await answered(wire, worker, camera.sent)
    assert await worker.end() == 0, worker.said
    assert "Traceback" not in worker.said


async def test_what_another_worker_has_answered_meanwhile_is_not_missing(
    wire: Wire, worker: Worker, another: Worker
) -> None:
    camera = Camera()
    async with camera.running(wire):
        await answered(wire, worker, 20)
        for frozen in (worker, another, worker):
            await frozen.freeze(2 * SESSION_S)
            await answered(wire, worker, camera.sent + 10)
    await answered(wire, worker, camera.sent)
    for each in (worker, another):
        assert await each.end() == 0, each.said
        assert "never came" not in each.said


@pytest.mark.parametrize("delay_s", [0.0, 0.1])
async def test_a_worker_told_to_end_as_it_wakes_ends_well(wire: Wire, worker: Worker, delay_s: float) -> None:
    camera = Camera()
    async with camera.running(wire):
        await answered(wire, worker, 5)
        await worker.freeze(2 * SESSION_S)
        await asyncio.sleep(delay_s)
        assert await worker.end() == 0, worker.said
    assert "Traceback" not in worker.said
