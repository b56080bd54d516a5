"""A worker that makes no exits gets them from `sluice adapt` over a real broker, though that is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cache_adapt.learned.artefact import ExitArtefact
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue
from pipelines.kafka.topics import TopicsConfig
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.worker.adapt.link import linked
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.kafka_side import create_topic
from tests.integration.photos import (
    Camera,
    answers_of,
    every_photo_is_an_object,  # noqa: F401
    exits_pay_at_once,  # noqa: F401
    mosaics,
)
from tests.integration.worker_parts import Wire, plain
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.process import Sluice

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
    stop = asyncio.Event()
    async with (
        linked(QUERY.name, wire.broker, topics(wire), 20) as link,
        assembled(compiled(QUERY, catalogue([])), Setting(elsewhere=link)) as parts,
    ):
        config = WorkerConfig(wire.broker, wire.query, wire.topics.frames, give_up_s=20)
        worker = asyncio.create_task(run_worker(config, wire.roster(parts.executor), stop=stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(worker, 120)


pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("every_photo_is_an_object", "exits_pay_at_once")]


async def test_exits_come_and_answer_though_who_trains_them_is_killed(
    wire: Wire, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "query.yaml").write_text(json.dumps(SPEC))
    (bootstrap,) = wire.broker.servers
    arguments = ("adapt", tmp_path / "query.yaml", "--prefix", topics(wire).prefix)
    camera = Camera(wire, mosaics(data_dir))
    async with working(wire):
        with Sluice(tmp_path / "adapt", *arguments, broker=bootstrap) as first:
            await camera.shown_until(lambda: wire.all_of(topics(wire).name("samples")))
            first.kill()
        with Sluice(tmp_path / "adapt", *arguments, broker=bootstrap) as second:
            answers = await camera.shown_until(lambda: answers_of(wire, "cached"))
            assert await asyncio.to_thread(second.terminate) == 0, second.errors
    update, *_ = await wire.all_of(topics(wire).name("updates"))
    artefact, card = ExitArtefact.from_bytes(update.value), catalogue([]).find("vehicle-type").card
    assert artefact.card.model_identity == card.identity
    assert {answer.label for answer in answers} <= {*card.classes, "unknown"}
    assert all(answer.model is not None and str(answer.model.variant).startswith("exit@") for answer in answers)
