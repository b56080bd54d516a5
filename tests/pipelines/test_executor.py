"""The executor: every frame ends in exactly one outcome, whatever the operators do."""

import asyncio
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from operators.frame import Frame
from operators.schema import Attribute, FrameHeader, Model
from pipelines.dag import compile_dag
from pipelines.executor import Executor
from pipelines.overload import LATE
from pipelines.planner import FirstListed
from pipelines.query import Query
from tests.operators.support import make_region

QUERY = Query.model_validate(
    {
        "version": 1,
        "name": "test",
        "slo_ms": 1000,
        "nodes": [
            {"name": "detect", "task": "detect", "model": ["good", "fast"]},
            {"name": "track", "task": "track", "input": "detect"},
            {"name": "kind", "task": "recognise", "input": "track[label == car]", "model": "kinds"},
        ],
    }
)


class Found:
    """A detector that finds one car and one tree per frame, and remembers what it was told."""

    def __init__(self):
        self.calls = []

    async def process(self, frame, regions, call):
        self.calls.append((frame.seq, list(regions), call))
        return [make_region(label="car"), make_region(x=0.5, label="tree")]

    def forget(self, stream):
        self.calls.append(("forget", stream))


class Numbered:
    async def process(self, frame, regions, call):
        for region in regions:
            region.track_id = region.id + 100
        return []

    def forget(self, stream):
        pass


class Named:
    async def process(self, frame, regions, call):
        model = Model(name=call.model, version="1", tier="t")
        for region in regions:
            region.attributes.append(
                Attribute(name="kind", label="red", confidence=0.9, provenance="oracle", model=model)
            )
        return []

    def forget(self, stream):
        pass


class Broken(Found):
    async def process(self, frame, regions, call):
        if frame.seq == 1:
            raise RuntimeError("no memory")
        return await super().process(frame, regions, call)


def executor(detect=None, policy="block", observers=()):
    operators = {"detect": detect or Found(), "track": Numbered(), "kind": Named()}
    return Executor(compile_dag(QUERY), operators, FirstListed(), {"cam": policy}, observers)


def header(seq=0, stream="cam", age_s=0.0):
    return FrameHeader(
        stream=stream,
        run="r",
        seq=seq,
        width=16,
        height=8,
        media_time_s=seq / 10,
        captured_at=datetime.now(UTC) - timedelta(seconds=age_s),
        encoding="bgr24",
        decode_ms=1.5,
    )


def loader(h):
    return lambda: Frame(h.stream, h.run, h.seq, np.zeros((8, 16, 3), np.uint8), h.media_time_s, h.captured_at)


async def submit(subject, h):
    return await subject.submit(h, loader(h))


async def test_walks_the_dag_and_reports_every_stage():
    detect, seen = Found(), []

    async def observe(frame, result):
        seen.append((frame.seq, result.seq))

    subject = executor(detect, observers=[observe])
    result = await submit(subject, header(seq=4))
    assert (result.stream, result.run, result.seq, result.query, result.outcome) == ("cam", "r", 4, "test", "analysed")
    assert [(o.id, o.label, o.track_id, [a.label for a in o.attributes]) for o in result.objects] == [
        (0, "car", 100, ["red"]),
        (1, "tree", 101, []),
    ]
    assert list(result.plan.stages_ms) == ["capture", "queue", "decode", "detect", "track", "kind", "framework"]
    assert result.plan.stages_ms["capture"] == 1.5
    assert result.plan.deadline_met
    assert result.objects[0].attributes[0].model.name == "kinds"
    assert seen == [(4, 4)]


async def test_the_first_listed_model_is_chosen():
    detect = Found()
    await submit(executor(detect), header())
    assert detect.calls[0][2].model == "good"


async def test_a_failing_node_fails_its_frame_only():
    subject = executor(Broken())
    results = await asyncio.gather(*(submit(subject, header(seq)) for seq in range(3)))
    assert [r.outcome for r in results] == ["analysed", "failed", "analysed"]
    assert results[1].cause == "detect: RuntimeError: no memory"
    assert results[1].objects == []


async def test_a_node_that_keeps_failing_is_told_once(caplog):
    class Failing(Found):
        async def process(self, frame, regions, call):
            raise RuntimeError("no memory")

    subject = executor(Failing())
    for seq in range(5):
        await submit(subject, header(seq))
    assert [record.getMessage() for record in caplog.records] == ["stream cam: node detect: RuntimeError: no memory"]


async def test_a_frame_that_cannot_be_loaded_raises_and_its_neighbours_go_on():
    subject = executor()

    def damaged():
        raise ValueError("damaged")

    bad, good = subject.submit(header(0), damaged), submit(subject, header(1))
    outcomes = await asyncio.gather(bad, good, return_exceptions=True)
    assert isinstance(outcomes[0], ValueError)
    assert outcomes[1].outcome == "analysed"


async def test_a_late_frame_is_dropped_by_its_policy_and_never_loaded():
    def load():
        pytest.fail("a dropped frame must not be decoded")

    result = await executor(policy="drop_late").submit(header(age_s=60), load)
    assert (result.outcome, result.cause, result.objects) == ("dropped", LATE, [])
    assert not result.plan.deadline_met


async def test_block_analyses_late_frames_and_says_so():
    result = await submit(executor(policy="block"), header(age_s=60))
    assert (result.outcome, result.plan.deadline_met) == ("analysed", False)
    assert result.plan.latency_ms >= 60_000


async def test_frames_of_a_stream_come_in_order_and_of_several_streams_together():
    class Gate(Found):
        def __init__(self):
            super().__init__()
            self.inside = set()
            self.together = 0

        async def process(self, frame, regions, call):
            assert frame.stream not in self.inside, "two frames of one stream at once"
            self.inside.add(frame.stream)
            self.together = max(self.together, len(self.inside))
            await asyncio.sleep(0.002)
            self.inside.remove(frame.stream)
            self.calls.append((frame.stream, frame.seq))
            return []

    gate = Gate()
    subject = executor(gate)
    headers = [header(seq, stream) for seq in range(5) for stream in ("cam", "yard")]
    await asyncio.gather(*(submit(subject, h) for h in headers))
    for stream in ("cam", "yard"):
        assert [seq for name, seq in gate.calls if name == stream] == list(range(5))
    assert gate.together == 2


async def test_forget_reaches_the_operators():
    detect = Found()
    executor(detect).forget("cam")
    assert detect.calls == [("forget", "cam")]


def test_unanalysed_frames_have_a_result_too():
    result = executor().unanalysed(header(seq=3), "failed", "undecodable_image: damaged")
    assert (result.seq, result.outcome, result.cause) == (3, "failed", "undecodable_image: damaged")
    assert (result.frame.width, result.frame.height) == (16, 8)
