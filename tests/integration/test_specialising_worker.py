"""A worker that specialises, with real networks on real photos; a process trains its exits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from operators.wire.schema import StreamPlan, from_json
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue
from pipelines.partition.duties import PlanPublisher
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.photos import (
    Camera,
    answers_of,
    every_photo_is_an_object,  # noqa: F401
    exits_pay_at_once,  # noqa: F401
    mosaics,
)
from tests.integration.worker_parts import Wire

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("every_photo_is_an_object", "exits_pay_at_once")]

QUERY = Query.model_validate(
    {
        "version": 1,
        "name": "test",
        "slo_ms": 60_000,
        "accuracy": 0.6,
        "learning": {"budget": "100%"},
        "streams": [{"id": "gate", "uri": "gate.mp4"}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": "motion"},
            {"name": "type", "task": "recognise", "input": "detect", "model": "vehicle-type", "specialize": True},
        ],
    }
)


async def test_exits_of_a_process_answer_for_what_dominates(
    wire: Wire, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    camera, stop = Camera(wire, mosaics(data_dir, ("bike", "car"))), asyncio.Event()
    async with assembled(compiled(QUERY, catalogue([])), Setting()) as parts:
        plans = PlanPublisher(parts.shortcuts, wire.topics.events, every_s=0.2)
        config = WorkerConfig(wire.broker, wire.query, wire.topics.frames, give_up_s=20)
        worker = asyncio.create_task(run_worker(config, wire.roster(parts.executor, plans=plans), stop=stop))
        try:
            answers = await camera.shown_until(lambda: answers_of(wire, "specialised"))
            await camera.show(4)
        finally:
            stop.set()
            await asyncio.wait_for(worker, 120)
    assert {answer.label for answer in answers} <= {"bicycle", "car", "motorcycle", "other", "unknown"}
    last = [from_json(each.value, StreamPlan) for each in await wire.all_of(wire.topics.events)][-1]
    (told,) = [node for node in last.nodes if node.kind == "specialised"]
    assert told.oracle == "vehicle-type"
    assert told.specialization is not None
