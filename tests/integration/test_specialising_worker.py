"""A worker that specialises, with real networks on real photos over both transports; heads come from a process."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from cache_adapt.audit_state import Rule
from datasets import vehicle6
from operators.frame import Box, Frame, Image, Region
from operators.frames_codec import encode_frame
from operators.schema import FRAME_HEADER_KEY, Result, StreamPlan, from_json, to_json
from pipelines.audits import Audits
from pipelines.build import build_executor
from pipelines.models import backend, catalogue
from pipelines.plan_publisher import PlanPublisher
from pipelines.query import Query
from pipelines.specializing import specializing
from pipelines.worker import WorkerConfig, run_worker
from specialization.specializer import ProcessSpecializer
from tests.integration.worker_parts import KafkaWire, LocalWire, Sent, Wire, plain

QUERY = Query.model_validate(
    {
        "version": 1,
        "name": "test",
        "slo_ms": 60_000,
        "accuracy": 0.9,
        "streams": [{"id": "gate", "uri": "gate.mp4"}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": "motion"},
            {"name": "type", "task": "recognise", "input": "detect", "model": "vehicle-type", "specialize": True},
        ],
    }
)
BIKES_AND_CARS, JUGGERNAUTS = 240, 12


@pytest.fixture(params=["local", pytest.param("kafka", marks=pytest.mark.kafka)])
def wire(request: pytest.FixtureRequest) -> Wire:
    if request.param == "local":
        return LocalWire()
    return KafkaWire(plain(request.getfixturevalue("kafka_broker")), request.getfixturevalue("topic_prefix"))


@pytest.fixture(autouse=True)
def the_whole_frame_is_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    async def process(self: object, frame: Frame, regions: object, call: object) -> list[Region]:
        return [Region(0, "detect", Box(0.0, 0.0, 1.0, 1.0), "moving", 0.9, class_agnostic=True)]

    monkeypatch.setattr("operators.detect.motion.MotionDetector.process", process)


async def test_heads_answer_for_what_dominates_and_the_oracle_for_the_rest(
    wire: Wire, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    photos = vehicle6.load(data_dir / "images" / "vehicle6", "test")
    common = [photo for photo, name in photos if name in ("bike", "car")]
    order = np.random.default_rng(0).permutation(len(common))
    shown = [common[each] for each in order[:BIKES_AND_CARS] % len(common)]
    shown += [photo for photo, name in photos if name == "juggernaut"][:JUGGERNAUTS]

    known, stop = catalogue([]), asyncio.Event()
    with specializing(known, ProcessSpecializer()) as means:
        engine, audits = backend(known), Audits("test", Rule(0.9), means)
        await engine.start()
        executor = await build_executor(QUERY, engine, audits=audits)
        plans = PlanPublisher(audits, wire.topics.events, every_s=0.2)
        config = WorkerConfig(wire.broker, wire.query, wire.topics, give_up_s=20)
        worker = asyncio.create_task(run_worker(config, executor, None, plans, stop=stop))
        try:
            # Not all at once: while the head is trained the oracle would have answered everything.
            for start in range(0, len(shown), 12):
                await wire.send(
                    [message(start + place, photo, wire) for place, photo in enumerate(shown[start : start + 12])]
                )
                await answered(wire, min(start + 12, len(shown)))
                await asyncio.sleep(0.1)
        finally:
            stop.set()
            await asyncio.wait_for(worker, 40)
            await audits.close()
            await engine.stop()

    results = [from_json(each.value, Result) for each in await wire.all_of(wire.topics.results)]
    answers = [result.objects[0].attributes[0] for result in sorted(results, key=lambda result: result.seq)]
    assert len(answers) == len(shown)
    by_head = [answer for answer in answers if answer.provenance == "specialised"]
    assert len(by_head) > 60
    assert {answer.label for answer in by_head} <= {"bike", "car", "other"}
    assert Counter(answer.provenance for answer in answers[-JUGGERNAUTS:])["oracle"] > JUGGERNAUTS / 2
    last = [from_json(each.value, StreamPlan) for each in await wire.all_of(wire.topics.events)][-1]
    (told,) = last.nodes
    assert (told.kind, told.oracle) == ("specialised", "vehicle-type")
    assert told.specialization is not None
    assert told.specialization.transitions >= 1


def message(seq: int, photo: Image, wire: Wire) -> Sent:
    frame = Frame("gate", "run", seq, photo, seq / 5, datetime.now(UTC))
    header, data = encode_frame(frame, wire.encoding)
    return Sent(b"gate", data, ((FRAME_HEADER_KEY, to_json(header)),))


async def answered(wire: Wire, count: int) -> None:
    """Return once there are so many results."""
    async with asyncio.timeout(60):
        found = await wire.all_of(wire.topics.results)
        while len(found) < count:
            await asyncio.sleep(0.02)
            found = await wire.all_of(wire.topics.results)
