"""A worker that makes no exits gets them from `sluice adapt` over a real broker, though that is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil
import pytest

from cache_adapt.learned.artefact import ExitArtefact
from datasets import vehicle6
from operators.audits.unit_costs import UnitCosts
from operators.frames.codec import encode_frame
from operators.frames.frame import Box, Frame, Region, frame_of
from operators.wire.schema import FRAME_HEADER_KEY, Attribute, FrameId, Result, from_json, to_json
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue
from pipelines.kafka.topics import TopicsConfig
from pipelines.query.compiled import compiled
from pipelines.query.query_file import Query
from pipelines.worker.adapt.link import Link
from pipelines.worker.adapt.running_link import running
from pipelines.worker.worker import Duties, WorkerConfig, run_worker
from serving.common.tensors import Image
from tests.integration.kafka_side import create_topic
from tests.integration.worker_parts import Sent, Wire, plain
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

Found = TypeVar("Found")
SIDE = 4
"""Photos in a row of a frame."""
SPEC = {
    "version": 1,
    "name": "cached",
    "slo_ms": 60_000,
    "accuracy": 0.6,
    "learning": {"budget": "100%"},
    "streams": [{"id": "gate", "uri": "gate.mp4"}],
    "nodes": [
        {"name": "detect", "task": "detect", "model": "motion"},
        {
            "name": "type",
            "task": "recognise",
            "input": "detect",
            "model": "vehicle-type",
            "caches": True,
            "specialize": False,
        },
    ],
}
QUERY = Query.model_validate(SPEC)


@pytest.fixture
def wire(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> Wire:
    for kind in ("samples", "updates"):
        create_topic(kafka_broker.bootstrap, f"{topic_prefix}{kind}.v1", partitions=1)
    return Wire(plain(kafka_broker), topic_prefix)


def topics(wire: Wire) -> TopicsConfig:
    return TopicsConfig(prefix=wire.topics.frames.removesuffix("frames.v1"))


@asynccontextmanager
async def working(wire: Wire) -> AsyncIterator[None]:
    """A worker that trains nothing."""
    stop, link = asyncio.Event(), Link(QUERY.name)
    async with (
        running(link, wire.broker, topics(wire), 20),
        assembled(compiled(QUERY, catalogue([])), Setting(elsewhere=link)) as parts,
    ):
        config = WorkerConfig(wire.transport, wire.query, wire.topics, give_up_s=20)
        worker = asyncio.create_task(run_worker(config, Duties(parts.executor), stop=stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(worker, 40)


@pytest.fixture(autouse=True)
def every_photo_is_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    async def process(self: object, frame: Frame, regions: object, call: object) -> list[Region]:
        at = [(row / SIDE, column / SIDE) for row in range(SIDE) for column in range(SIDE)]
        return [
            Region(number, "detect", Box(left, top, 1 / SIDE, 1 / SIDE), "moving", 0.9, class_agnostic=True)
            for number, (top, left) in enumerate(at)
        ]

    monkeypatch.setattr("operators.detect.motion.MotionDetector.process", process)


@pytest.fixture(autouse=True)
def exits_pay_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learning.budget.FIRST_S", 0.0)
    monkeypatch.setattr(UnitCosts, "network_s", lambda costs, model: 0.05)


def mosaics(data_dir: Path) -> list[Image]:
    photos = [photo for photo, _ in vehicle6.load(data_dir / "images" / "vehicle6", "test")]
    order = np.random.default_rng(0).permutation(len(photos))
    frames = [order[start : start + SIDE**2] for start in range(0, len(order) - SIDE**2, SIDE**2)]
    return [
        np.vstack([np.hstack([photos[each] for each in frame[row : row + SIDE]]) for row in range(0, SIDE**2, SIDE)])
        for frame in frames
    ]


class Camera:
    """Shows pictures one after the other, over and over."""

    def __init__(self, wire: Wire, pictures: Sequence[Image]) -> None:
        self._wire, self._pictures, self._shown = wire, pictures, 0

    async def show(self, count: int) -> None:
        """So many more, once they are answered."""
        await self._wire.send([self._message(seq) for seq in range(self._shown, self._shown + count)])
        self._shown += count
        async with asyncio.timeout(180):
            answered = await self._wire.all_of(self._wire.topics.results)
            while len(answered) < self._shown:
                await asyncio.sleep(0.4)
                answered = await self._wire.all_of(self._wire.topics.results)

    async def shown_until(self, found: Callable[[], Awaitable[list[Found]]]) -> list[Found]:
        """Show pictures until there is something."""
        async with asyncio.timeout(180):
            while not (some := await found()):
                await self.show(8)
        return some

    def _message(self, seq: int) -> Sent:
        frame = frame_of(
            FrameId("gate", "run", seq), self._pictures[seq % len(self._pictures)], seq / 5, datetime.now(UTC)
        )
        header, data = encode_frame(frame)
        return Sent(b"gate", data, ((FRAME_HEADER_KEY, to_json(header)),))


async def trainers(worker: Sluice) -> list[psutil.Process]:
    return psutil.Process(worker.process.pid).children()


async def by_exits(wire: Wire) -> list[Attribute]:
    results = [from_json(each.value, Result) for each in await wire.all_of(wire.topics.results)]
    answers = [each.attributes[0] for result in results for each in result.objects]
    return [answer for answer in answers if answer.provenance == "cached"]


async def test_exits_come_and_answer_though_what_trains_them_is_killed(
    wire: Wire, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "query.yaml").write_text(json.dumps(SPEC))
    (bootstrap,) = wire.broker.servers
    arguments = ("adapt", tmp_path / "query.yaml", "--prefix", topics(wire).prefix)
    camera = Camera(wire, mosaics(data_dir))
    async with working(wire):
        with Sluice(tmp_path / "adapt", *arguments, broker=bootstrap) as first:
            orphans = await camera.shown_until(lambda: trainers(first))
            first.kill()
        assert await wire.all_of(topics(wire).name("updates")) == []
        with Sluice(tmp_path / "adapt", *arguments, broker=bootstrap) as second:
            await asyncio.to_thread(until, lambda: "): version" in second.errors, "exits", second)
            answers = await camera.shown_until(lambda: by_exits(wire))
            assert await asyncio.to_thread(second.terminate) == 0, second.errors
    assert not any(each.is_running() for each in orphans), "what trained has ended with its worker"
    update, *_ = await wire.all_of(topics(wire).name("updates"))
    artefact, card = ExitArtefact.from_bytes(update.value), catalogue([]).find("vehicle-type").card
    assert artefact.card.model_identity == card.identity
    assert {answer.label for answer in answers} <= {*card.classes, "unknown"}
    assert all(answer.model is not None and str(answer.model.variant).startswith("exit@") for answer in answers)
