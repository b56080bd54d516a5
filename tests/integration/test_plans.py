"""A worker whose query lists a shortcut, with real networks: results, audits, published plans."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from operators.frames.frame import Frame, Region
from operators.testing import make_region
from operators.wire.schema import Result, StreamPlan, from_json
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue
from pipelines.partition.duties import PlanPublisher
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.worker_parts import Wire, frame_message

pytestmark = pytest.mark.kafka

QUERY = Query.model_validate(
    {
        "version": 1,
        "name": "test",
        "slo_ms": 60_000,
        "streams": [{"id": "cam", "uri": "cam.mp4"}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": "motion"},
            {
                "name": "type",
                "task": "recognise",
                "input": "detect",
                "model": ["vehicle-type-compact", "vehicle-type"],
            },
        ],
    }
)

UNDECIDED = Rule(0.65, probation_rate=1.0)
"""Audits every answer; twelve audits prove nothing, whatever they find."""


@pytest.fixture(autouse=True)
def one_object_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    async def process(self: object, frame: Frame, regions: object, call: object) -> list[Region]:
        return [make_region(label="moving")]

    monkeypatch.setattr("operators.detect.motion.MotionDetector.process", process)


async def test_plans_are_published_while_the_worker_works(wire: Wire) -> None:
    await wire.send([frame_message("cam", seq) for seq in range(12)])
    stop, setting = asyncio.Event(), Setting(rule=UNDECIDED)
    async with assembled(compiled(QUERY, catalogue([])), setting) as parts:
        # The events topic exists on either transport, and nothing else is written to it here.
        plans = PlanPublisher(parts.shortcuts, wire.topics.events, every_s=0.2)
        config = WorkerConfig(wire.broker, wire.query, wire.topics.frames, give_up_s=20)
        worker = asyncio.create_task(run_worker(config, wire.roster(parts.executor, plans=plans), stop=stop))
        try:
            await all_audits(wire, 12)
        finally:
            stop.set()
            await asyncio.wait_for(worker, 120)

    results = [from_json(message.value, Result) for message in await wire.all_of(wire.topics.results)]
    answers = [found.attributes[0] for result in results for found in result.objects]
    assert len(answers) == 12
    planned = {result.plan.nodes["type"].variant for result in results}
    assert planned <= {"vehicle-type-compact", "vehicle-type"}  # as listed until both are measured, then who may answer
    assert {(each.provenance, each.model.name) for each in answers} <= {
        ("variant", "vehicle-type-compact"),
        ("oracle", "vehicle-type"),
    }
    last = (await published(wire))[-1]
    (told,) = last.nodes
    assert (last.stream, told.oracle, told.shortcuts) == ("cam", "vehicle-type", ["vehicle-type-compact"])
    assert told.agreement.audits == 12
    assert np.isclose(told.agreement.found or 0.0, 1 - told.agreement.disagreements / 12, atol=1e-4)


async def all_audits(wire: Wire, count: int) -> None:
    """Return once so many have been published."""
    async with asyncio.timeout(180):
        found = await published(wire)
        while not any(told.nodes[0].audits == count for told in found):
            await asyncio.sleep(0.2)
            found = await published(wire)


async def published(wire: Wire) -> list[StreamPlan]:
    return [from_json(message.value, StreamPlan) for message in await wire.all_of(wire.topics.events)]
