"""Workers that train nothing get the heads of an adaptation worker over a real broker, with real networks on photos."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from cache_adapt.adaptation.jobs import Adaptation
from datasets import vehicle6
from learning.purse import unlimited
from operators.audits.unit_costs import UnitCosts
from operators.recognise.specialised.head_kinds import HeadKind, TrainingSamples
from operators.wire.schema import Attribute
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue, template_dirs
from pipelines.kafka.topics import TopicsConfig
from pipelines.query.compiled import compiled
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from pipelines.worker.adapt.link import Link
from pipelines.worker.adapt.nodes import adapted
from pipelines.worker.adapt.running_link import running
from pipelines.worker.adapt.service import Service, ServiceConfig
from pipelines.worker.worker import Duties, WorkerConfig, run_worker
from specialization.trainer.trainer import ProcessSpecializer
from tests.integration.kafka_side import create_topic
from tests.integration.test_specialising_worker import (
    BATCH,
    QUERY,
    Camera,
    the_whole_frame_is_an_object,  # noqa: F401
)
from tests.integration.worker_parts import Wire, plain
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka


@pytest.fixture
def wire(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> Wire:
    for kind in ("samples", "updates"):
        create_topic(kafka_broker.bootstrap, f"{topic_prefix}{kind}.v1", partitions=1)
    return Wire(plain(kafka_broker), topic_prefix)


def topics(wire: Wire) -> TopicsConfig:
    return TopicsConfig(prefix=wire.topics.frames.removesuffix("frames.v1"))


@asynccontextmanager
async def working(wire: Wire, query: Query = QUERY) -> AsyncIterator[None]:
    """A worker that must not train."""
    stop, link = asyncio.Event(), Link(query.name)
    setting = Setting(Untrained(), elsewhere=link)
    async with (
        running(link, wire.broker, topics(wire), 20),
        assembled(compiled(query, catalogue([])), setting) as parts,
    ):
        config = WorkerConfig(wire.transport, wire.query, wire.topics, give_up_s=20)
        worker = asyncio.create_task(run_worker(config, Duties(parts.executor), stop=stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(worker, 40)


class Untrained(ProcessSpecializer):
    """Nobody trains in a worker."""

    async def train(self, *_: object) -> None:  # type: ignore[override]
        raise AssertionError("a worker trains")


@asynccontextmanager
async def adapting(wire: Wire, folder: Path) -> AsyncIterator[None]:
    stop, trainer = asyncio.Event(), ProcessSpecializer()
    known = adapted(compile_dag(QUERY), catalogue([]), template_dirs()).templates
    kinds = [HeadKind(TrainingSamples(known, folder), trainer)]
    service = Service(ServiceConfig(wire.broker, QUERY.name, topics(wire)), Adaptation(kinds, unlimited(), 0.6))
    running = asyncio.create_task(service.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running
        await trainer.close()


async def test_heads_of_an_adaptation_worker_answer_and_a_second_worker_gets_the_same(
    wire: Wire, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    # What heads may cost, and whether they pay beside so small a network, is another matter.
    monkeypatch.setattr("pipelines.assembly.environment.Purse", lambda used_s: unlimited())
    monkeypatch.setattr(UnitCosts, "network_s", lambda costs, model: 0.05 if model == "vehicle-type" else 0.001)
    photos = vehicle6.load(data_dir / "images" / "vehicle6", "test")
    common = [photo for photo, name in photos if name in ("bike", "car")]
    camera = Camera(wire, [common[each] for each in np.random.default_rng(0).permutation(len(common))])
    async with adapting(wire, tmp_path):
        async with working(wire):
            first = await until_specialised(camera)
            update, *_ = await wire.all_of(topics(wire).name("updates"))
        async with working(wire):
            second = await until_specialised(camera, len(first))
    assert {answer.label for answer in (*first, *second) if answer.provenance == "specialised"} <= {
        "bicycle", "car", "motorcycle", "other", "unknown",
    }  # fmt: skip
    assert [each.key for each in await wire.all_of(topics(wire).name("updates"))][:1] == [update.key]


async def until_specialised(camera: Camera, known: int = 0) -> list[Attribute]:
    """Show photos until heads answer; all new answers."""
    async with asyncio.timeout(200):
        answers = await camera.show(BATCH)
        while "specialised" not in {answer.provenance for answer in answers[known:]}:
            await asyncio.sleep(0.1)
            answers = await camera.show(BATCH)
    return answers[known:]
