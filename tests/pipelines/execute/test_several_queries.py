"""Several queries on one stream: one turn and one decoding of a frame, shared nodes once, and a result for each."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping, Sequence
from datetime import timedelta
from weakref import ref

import numpy as np
import pytest

from operators.base import Call, NodeAnswer, Operator
from operators.frames.frame import Frame, Region
from operators.testing import make_region
from operators.wire.schema import Attribute, FrameHeader, Model, Result
from pipelines.execute.executor import Executor
from pipelines.execute.lanes import Lanes
from pipelines.execute.overload import LATE
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.planning.planner import Planner
from pipelines.query.dag import compile_dag
from pipelines.query.nodes import PolicyName
from pipelines.query.query_file import Query
from serving.errors import TooLate
from tests.fake_clock import FakeClock
from tests.turns import turns

DETECT = {"name": "detect", "task": "detect", "model": "boxes"}
TRACK = {"name": "track", "task": "track", "input": "detect"}
BESIDE = {"name": "beside", "task": "detect", "model": "boxes"}
COLOUR = {"name": "colour", "task": "recognise", "input": "track", "model": "colours"}
KIND = {"name": "kind", "task": "recognise", "input": "track[label == car]", "model": "kinds"}
FACES = {"name": "faces", "task": "detect", "input": "detect", "model": "faces"}


class Node:
    """Finds, tracks or names objects, and notes the frames that it saw and its calls."""

    def __init__(self, name: str, gate: asyncio.Event | None = None, error: Exception | None = None) -> None:
        self.name, self.gate, self.error = name, gate, error
        self.seen: list[int] = []
        self.calls: list[Call] = []

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region] | NodeAnswer:
        self.seen.append(frame.seq)
        self.calls.append(call)
        await (self.gate.wait() if self.gate else asyncio.sleep(0))
        if self.error is not None:
            raise self.error
        for region in regions:
            if self.name == "track":
                region.track_id = 10 * frame.seq + region.id
            elif self.name != "faces":
                model = Model(name=self.name, version="1", tier="t")
                region.attributes.append(
                    Attribute(name=self.name, label="x", confidence=1.0, provenance="oracle", model=model)
                )
        if self.name == "detect":
            return [make_region(label="car"), make_region(0.5, label="tree")]
        return [make_region(0.2, parent_id=region.id) for region in regions] if self.name == "faces" else []

    def forget(self, stream: str) -> None:
        """Nothing is known."""


class Bench:
    """Queries with lanes in common."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.lanes = Lanes(self.clock)
        self.loads: list[int] = []
        self.kept: list[ref[object]] = []
        """What loads frames, and their pictures."""

    def query(
        self,
        operators: Mapping[str, Operator],
        *specs: Mapping[str, str],
        slo_ms: float = 1000,
        policy: PolicyName = "block",
    ) -> Executor:
        found = Query.model_validate({"version": 1, "name": "q", "slo_ms": slo_ms, "nodes": list(specs)})
        own = {each["name"]: operators[each["name"]] for each in specs}
        limits = Limits({"cam": policy}, lanes=self.lanes)
        return Executor(compile_dag(found), own, Planner(), limits, Surroundings((), self.clock))

    def submit(self, seq: int, *queries: Executor, age_s: float = 0.0) -> list[asyncio.Task[Result]]:
        header = FrameHeader(
            stream="cam", run="r", seq=seq, width=16, height=8, media_time_s=seq / 10,
            captured_at=self.clock.now() - timedelta(seconds=age_s), encoding="bgr24", decode_ms=1.0,
        )  # fmt: skip

        def load() -> Frame:
            self.loads.append(seq)
            picture = np.zeros((8, 16, 3), np.uint8)
            self.kept.append(ref(picture))
            return Frame(header, picture)

        self.kept.append(ref(load))
        return [asyncio.ensure_future(query.submit(header, load)) for query in queries]


def objects(result: Result) -> list[object]:
    return [
        (each.label, each.track_id, each.parent_id, [one.name for one in each.attributes]) for each in result.objects
    ]


async def test_shared_nodes_see_each_frame_once_and_results_are_those_of_queries_alone() -> None:
    alone, together = Bench(), Bench()
    names = ("detect", "track", "colour", "kind", "faces")
    shared = {name: Node(name) for name in names}
    first, second = (DETECT, TRACK, COLOUR), (FACES, DETECT, TRACK, KIND)
    queries = [together.query(shared, *first), together.query(shared, *second)]
    separate = [alone.query({name: Node(name) for name in names}, *specs) for specs in (first, second)]
    for seq in range(5):
        found = await asyncio.gather(*together.submit(seq, *queries))
        expected = [await alone.submit(seq, each)[0] for each in separate]
        assert [objects(each) for each in found] == [objects(each) for each in expected]
        assert {each.outcome for each in found} == {"analysed"}
        assert found[1].plan.stages_ms.keys() == expected[1].plan.stages_ms.keys()
    assert shared["detect"].seen == shared["track"].seen == [0, 1, 2, 3, 4]
    assert together.loads == [0, 1, 2, 3, 4]


async def test_a_node_of_one_query_leaves_no_trace_in_the_other() -> None:
    bench, slow = Bench(), asyncio.Event()
    shared = {"detect": Node("detect"), "track": Node("track")}
    early = bench.query({**shared, "colour": Node("colour")}, DETECT, TRACK, COLOUR)
    late = bench.query({**shared, "faces": Node("faces", slow), "kind": Node("kind")}, DETECT, FACES, TRACK, KIND)
    first, second = bench.submit(0, early, late)
    assert [each[3] for each in objects(await first)] == [["colour"], ["colour"]]  # type: ignore[index]
    slow.set()
    assert [each[3] for each in objects(await second)][:2] == [["kind"], []]  # type: ignore[index]


async def test_the_query_with_the_earliest_deadline_plans_what_is_shared() -> None:
    bench, detect = Bench(), Node("detect")
    queries = [bench.query({"detect": detect}, DETECT, slo_ms=slo_ms) for slo_ms in (5000, 200, 1000)]
    await asyncio.gather(*bench.submit(0, *queries))
    (call,) = detect.calls
    assert call.urgency.deadline - bench.clock.monotonic_s() < 0.21


async def test_what_others_have_time_for_is_not_given_up_half_way() -> None:
    bench, detect = Bench(), Node("detect")
    hurried = bench.query({"detect": detect}, DETECT, slo_ms=200, policy="drop_late")
    patient = bench.query({"detect": detect}, DETECT, slo_ms=5000)
    equal = bench.query({"detect": detect}, DETECT, slo_ms=200, policy="drop_late")
    for queries in ([hurried, patient], [hurried, equal], [hurried]):
        await asyncio.gather(*bench.submit(len(detect.calls), *queries))
    assert [call.urgency.droppable for call in detect.calls] == [False, True, True]


async def test_a_failure_of_a_shared_node_costs_each_query_the_frame_and_one_of_its_own_only_that_query() -> None:
    bench = Bench()
    shared, broken = {"detect": Node("detect")}, Node("track", error=RuntimeError("no memory"))
    good, bad = bench.query(shared, DETECT), bench.query({**shared, "track": broken}, DETECT, TRACK)
    found = await asyncio.gather(*bench.submit(0, good, bad))
    assert [each.outcome for each in found] == ["analysed", "failed"]
    shared["detect"].error = TooLate("no time")
    found = await asyncio.gather(*bench.submit(1, good, bad))
    assert [(each.outcome, each.cause) for each in found] == [("dropped", LATE)] * 2


class Spoilt(Node):
    """Spoils the objects that it is given, or answers with what is none."""

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region] | NodeAnswer:
        if self.name == "detect":
            return NodeAnswer(["car"])  # type: ignore[list-item]
        regions[0].attributes = None  # type: ignore[assignment]
        return []


async def test_a_shared_node_that_spoils_objects_costs_each_query_the_frame() -> None:
    bench = Bench()
    for seq, spoilt in enumerate(("detect", "track")):
        shared = {name: Spoilt(name) if name == spoilt else Node(name) for name in ("detect", "track")}
        waiting = bench.submit(seq, bench.query(shared, DETECT, TRACK), bench.query(shared, DETECT, TRACK))
        async with asyncio.timeout(30):
            results = await asyncio.gather(*waiting)
        assert [each.outcome for each in results] == ["failed", "failed"]


async def test_a_frame_is_dropped_for_the_query_whose_deadline_has_passed_and_answered_for_the_other() -> None:
    bench, gate = Bench(), asyncio.Event()
    detect = Node("detect", gate)
    hurried = bench.query({"detect": detect}, DETECT, slo_ms=200, policy="drop_late")
    patient = bench.query({"detect": detect}, DETECT)
    running = bench.submit(0, hurried, patient)
    await turns()
    waiting = bench.submit(1, hurried, patient)
    await turns()
    bench.clock.advance(0.25)
    dropped = await waiting[0]
    assert (dropped.outcome, dropped.cause, detect.seen) == ("dropped", LATE, [0])
    gate.set()
    assert (await waiting[1]).outcome == "analysed"
    await asyncio.gather(*running)
    assert detect.seen == [0, 1], "in order, and once"


async def test_a_full_lane_loses_its_oldest_frame_only_where_no_query_wants_all() -> None:
    bench, gate = Bench(), asyncio.Event()
    detect = Node("detect", gate)
    fresh = [bench.query({"detect": detect}, DETECT, slo_ms=60_000, policy="drop_oldest") for _ in range(2)]
    patient = bench.query({"detect": detect}, DETECT)
    for queries, outcomes in ((fresh, {"analysed", "dropped"}), ([*fresh, patient], {"analysed"})):
        gate.clear()
        tasks = []
        for seq in range(12):
            tasks += bench.submit(seq, *queries)
            await turns()
        gate.set()
        assert {each.outcome for each in await asyncio.gather(*tasks)} == outcomes


async def test_a_frame_that_comes_twice_is_answered_twice() -> None:
    bench, detect = Bench(), Node("detect")
    query = bench.query({"detect": detect}, DETECT)
    found = await asyncio.gather(*bench.submit(0, query), *bench.submit(0, query))
    assert [each.outcome for each in found] == ["analysed", "analysed"]
    assert detect.seen == [0, 0]


class Failing(Node):
    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region] | NodeAnswer:
        await super().process(frame, regions, call)
        raise OSError(f"broken at {frame.seq}")


class Late(Node):
    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region] | NodeAnswer:
        await super().process(frame, regions, call)
        raise TooLate(f"no time for {frame.seq}")


@pytest.mark.parametrize("kind", [Node, Failing, Late])
@pytest.mark.parametrize("specs", [[(DETECT,)], [(DETECT,), (DETECT, TRACK)], 2 * [(DETECT, BESIDE)]])
async def test_a_frame_is_let_go_once_it_is_done(specs: list[tuple[Mapping[str, str]]], kind: type[Node]) -> None:
    """Not only when Python looks for circles, which may be hundreds of frames later."""
    bench, gate = Bench(), asyncio.Event()
    shared = {"detect": kind("detect", gate), "beside": kind("beside"), "track": Node("track")}
    queries = [bench.query(shared, *each, policy="drop_late") for each in specs]
    gc.collect()
    gc.disable()
    try:
        running = bench.submit(0, *queries)
        await turns()
        waiting = bench.submit(1, *queries)
        await turns()
        bench.clock.advance(1.1)
        late = await asyncio.gather(*waiting)
        gate.set()
        found = [*await asyncio.gather(*running), *await asyncio.gather(*bench.submit(2, *queries))]
        left = [each() is not None for each in bench.kept]
    finally:
        gc.enable()
    assert {each.outcome for each in late} == {"dropped"}
    assert {each.outcome for each in found} == {{Node: "analysed", Failing: "failed", Late: "dropped"}[kind]}
    assert bench.loads == [0, 2]
    assert left == [False] * 5
