"""Streams whose partition moves to another worker while a frame of them is analysed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from operators.base import Call
from operators.frames.frame import Frame, Region
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.planning.planner import Planner
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from pipelines.worker import agent
from tests.integration.notebook import until
from tests.integration.test_worker import results_of, working
from tests.integration.worker_parts import Wire, frame_message, plain
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

STREAMS, FRAMES = 8, 12


class Remembers:
    """An operator that finds its stream forgotten, or not, when it comes back to it in the middle of a frame."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.forgotten: list[str] = []
        self.begun = 0

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        self.known.add(frame.stream)
        self.begun += 1
        await asyncio.sleep(0.3)
        if frame.stream not in self.known:
            self.forgotten.append(frame.stream)
        return []

    def forget(self, stream: str) -> None:
        self.known.discard(stream)


def analyser(query: str, operator: Remembers) -> Executor:
    node = {"name": "detect", "task": "detect", "model": "motion"}
    dag = compile_dag(Query.model_validate({"version": 1, "name": query, "slo_ms": 1000, "nodes": [node]}))
    return Executor(dag, {"detect": operator}, Planner(), Limits({}), Surroundings())


async def test_no_stream_is_forgotten_in_the_middle_of_its_frame(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "HANDOVER_S", 0.05)
    monkeypatch.setattr(agent, "SETTLE_S", 60.0)
    wire = Wire(plain(kafka_broker), topic_prefix)
    streams = [f"camera-{number}" for number in range(STREAMS)]

    async def send(seqs: range) -> None:
        await wire.send(frame_message(stream, seq) for seq in seqs for stream in streams)

    await send(range(frames := FRAMES))
    first, second = Remembers(), Remembers()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(working(wire, analyser(wire.query, first)))
        await until(lambda: first.begun >= STREAMS)
        await stack.enter_async_context(working(wire, analyser(wire.query, second)))
        while not second.begun:  # however long it takes the second to join
            await send(range(frames, frames + 1))
            frames += 1
            await results_of(wire, STREAMS * (frames - FRAMES))
        results = await results_of(wire, STREAMS * frames)
    assert first.forgotten == second.forgotten == []
    assert Counter((result.stream, result.seq) for result in results).keys() == {
        (stream, seq) for stream in streams for seq in range(frames)
    }
    assert {result.outcome for result in results} == {"analysed"}
