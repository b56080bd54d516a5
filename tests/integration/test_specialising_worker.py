"""A worker that specialises, with real networks on real photos; heads come from a process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from datasets import vehicle6
from learning.purse import unlimited
from operators.audits.unit_costs import UnitCosts
from operators.frames.codec import encode_frame
from operators.frames.frame import Box, Frame, Region, frame_of
from operators.wire.schema import FRAME_HEADER_KEY, Attribute, FrameId, Result, StreamPlan, from_json, to_json
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue
from pipelines.query.compiled import compiled
from pipelines.query.query_file import Query
from pipelines.worker.plan_publisher import PlanPublisher
from pipelines.worker.worker import Duties, WorkerConfig, run_worker
from serving.common.tensors import Image
from specialization.trainer.trainer import ProcessSpecializer
from tests.integration.worker_parts import Sent, Wire

pytestmark = pytest.mark.kafka

QUERY = Query.model_validate(
    {
        "version": 1,
        "name": "test",
        "slo_ms": 60_000,
        "accuracy": 0.6,
        "streams": [{"id": "gate", "uri": "gate.mp4"}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": "motion"},
            {"name": "type", "task": "recognise", "input": "detect", "model": "vehicle-type", "specialize": True},
        ],
    }
)
BATCH, MORE, JUGGERNAUTS = 12, 60, 12


@pytest.fixture(autouse=True)
def the_whole_frame_is_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    async def process(self: object, frame: Frame, regions: object, call: object) -> list[Region]:
        return [Region(0, "detect", Box(0.0, 0.0, 1.0, 1.0), "moving", 0.9, class_agnostic=True)]

    monkeypatch.setattr("operators.detect.motion.MotionDetector.process", process)


async def test_heads_of_a_process_answer_for_what_dominates(
    wire: Wire, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    # What heads may cost, and whether they pay beside so small a network, is another matter.
    monkeypatch.setattr("pipelines.assembly.environment.Purse", lambda used_s: unlimited())
    monkeypatch.setattr(UnitCosts, "network_s", lambda costs, model: 0.05 if model == "vehicle-type" else 0.001)
    photos = vehicle6.load(data_dir / "images" / "vehicle6", "test")
    common = [photo for photo, name in photos if name in ("bike", "car")]
    common = [common[each] for each in np.random.default_rng(0).permutation(len(common))]
    rare = [photo for photo, name in photos if name == "juggernaut"][:JUGGERNAUTS]

    stop = asyncio.Event()
    async with assembled(compiled(QUERY, catalogue([])), Setting(ProcessSpecializer())) as parts:
        plans = PlanPublisher(parts.shortcuts, wire.topics.events, every_s=0.2)
        config = WorkerConfig(wire.transport, wire.query, wire.topics, give_up_s=20)
        worker = asyncio.create_task(run_worker(config, Duties(parts.executor, plans=plans), stop=stop))
        try:
            camera = Camera(wire, common)
            async with asyncio.timeout(200):  # a process that gives way to all others trains the head
                answers = await camera.show(BATCH)
                while "specialised" not in {answer.provenance for answer in answers}:
                    await asyncio.sleep(0.1)
                    answers = await camera.show(BATCH)
            begun = camera.shown
            await camera.show(MORE)
            camera.photos = rare
            answers = await camera.show(JUGGERNAUTS)
        finally:
            stop.set()
            await asyncio.wait_for(worker, 40)

    assert len(answers) == camera.shown
    by_head = [answer for answer in answers[begun : begun + MORE] if answer.provenance == "specialised"]
    assert len(by_head) > MORE / 4
    assert {answer.label for answer in by_head} <= {"bicycle", "car", "motorcycle", "other", "unknown"}
    assert {answer.provenance for answer in answers[:BATCH]} == {"oracle"}
    last = [from_json(each.value, StreamPlan) for each in await wire.all_of(wire.topics.events)][-1]
    (told,) = last.nodes
    assert (told.kind, told.oracle) == ("specialised", "vehicle-type")
    assert told.specialization is not None
    assert told.specialization.transitions >= 1


class Camera:
    """Shows photos one after the other, over and over."""

    def __init__(self, wire: Wire, photos: Sequence[Image]) -> None:
        self.photos, self.shown = photos, 0
        self._wire = wire

    async def show(self, count: int) -> list[Attribute]:
        """So many more, once they are answered; all answers so far, in order."""
        seqs = range(self.shown, self.shown + count)
        await self._wire.send([self._message(seq) for seq in seqs])
        self.shown += count
        async with asyncio.timeout(180):
            found = await self._wire.all_of(self._wire.topics.results)
            while len(found) < self.shown:
                await asyncio.sleep(0.02)
                found = await self._wire.all_of(self._wire.topics.results)
        results = sorted((from_json(each.value, Result) for each in found), key=lambda result: result.seq)
        return [result.objects[0].attributes[0] for result in results]

    def _message(self, seq: int) -> Sent:
        photo = self.photos[seq % len(self.photos)]
        frame = frame_of(FrameId("gate", "run", seq), photo, seq / 5, datetime.now(UTC))
        header, data = encode_frame(frame)
        return Sent(b"gate", data, ((FRAME_HEADER_KEY, to_json(header)),))
