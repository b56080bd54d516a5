"""A worker that builds no caches gets them from `sluice adapt` over a real broker, though that is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil
import pytest

from cache_adapt.caches.store import BuiltCaches
from datasets import vehicle6
from learning.purse import unlimited
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Box, Frame, Region
from operators.wire.schema import Attribute, Result, from_json
from pipelines.environment import catalogue
from pipelines.query.query_file import Query
from serving.common.tensors import Image
from tests.integration.test_adapting_worker import topics, wire, working  # noqa: F401
from tests.integration.test_specialising_worker import Camera
from tests.integration.worker_parts import Wire
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
    "streams": [{"id": "gate", "uri": "gate.mp4"}],
    "nodes": [
        {"name": "detect", "task": "detect", "model": "motion"},
        {"name": "type", "task": "recognise", "input": "detect", "model": "vehicle-type", "caches": True},
    ],
}
QUERY = Query.model_validate(SPEC)


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
def every_look_is_sampled_whatever_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.recognise.cached.sampled_engine.EVERY", 1)
    monkeypatch.setattr("operators.recognise.account.outlook.LEAST_ORACLE_S", 0.0)
    monkeypatch.setattr("pipelines.assembly.environment.Purse", lambda used_s: unlimited())
    monkeypatch.setattr(UnitCosts, "network_s", lambda costs, model: 0.05)


def mosaics(data_dir: Path) -> list[Image]:
    photos = [photo for photo, _ in vehicle6.load(data_dir / "images" / "vehicle6", "test")]
    order = np.random.default_rng(0).permutation(len(photos))
    frames = [order[start : start + SIDE**2] for start in range(0, len(order) - SIDE**2, SIDE**2)]
    return [
        np.vstack([np.hstack([photos[each] for each in frame[row : row + SIDE]]) for row in range(0, SIDE**2, SIDE)])
        for frame in frames
    ]


class PatientCamera(Camera):
    """Looks for answers now and then only: reading them all again costs more than the frames."""

    async def show(self, count: int) -> list[Attribute]:
        await self._wire.send([self._message(seq) for seq in range(self.shown, self.shown + count)])
        self.shown += count
        async with asyncio.timeout(180):
            found = await self._wire.all_of(self._wire.topics.results)
            while len(found) < self.shown:
                await asyncio.sleep(0.4)
                found = await self._wire.all_of(self._wire.topics.results)
        return []


async def trainers(worker: Sluice) -> list[psutil.Process]:
    return psutil.Process(worker.process.pid).children()


async def cached(wire: Wire) -> list[Attribute]:  # noqa: F811
    results = [from_json(each.value, Result) for each in await wire.all_of(wire.topics.results)]
    answers = [each.attributes[0] for result in results for each in result.objects]
    return [answer for answer in answers if answer.provenance == "cached"]


async def test_caches_come_and_answer_though_what_trains_them_is_killed(
    wire: Wire,  # noqa: F811
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "query.yaml").write_text(json.dumps(SPEC))
    (bootstrap,) = wire.broker.servers
    arguments = ("adapt", tmp_path / "query.yaml", "--prefix", topics(wire).prefix)
    camera = PatientCamera(wire, mosaics(data_dir))
    async with working(wire, QUERY):
        with Sluice(tmp_path / "adapt", *arguments, broker=bootstrap) as first:
            orphans = await shown_until(camera, lambda: trainers(first))
            first.kill()
        assert await wire.all_of(topics(wire).name("updates")) == []
        with Sluice(tmp_path / "adapt", *arguments, broker=bootstrap) as second:
            await asyncio.to_thread(until, lambda: "): version" in second.errors, "caches", second)
            by_caches = await shown_until(camera, lambda: cached(wire))
            assert await asyncio.to_thread(second.terminate) == 0, second.errors
    assert not any(each.is_running() for each in orphans), "what trained has ended with its worker"
    (update,) = await wire.all_of(topics(wire).name("updates"))
    built, card = BuiltCaches.from_bytes(update.value), catalogue([]).find("vehicle-type").card
    assert (built.card.model_identity, built.card.of) == (card.identity, "answers")
    assert {answer.label for answer in by_caches} <= {*card.classes, "unknown"}
    assert all(answer.model is not None and str(answer.model.variant).startswith("cached@") for answer in by_caches)


async def shown_until(camera: Camera, found: Callable[[], Awaitable[list[Found]]]) -> list[Found]:
    """Show frames until there is something."""
    async with asyncio.timeout(180):
        while not (some := await found()):
            await camera.show(8)
    return some
