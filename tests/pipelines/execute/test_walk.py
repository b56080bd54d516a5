"""The walk of a frame through its nodes: those that do not depend on each other run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from operators.base import Call, Operator
from operators.frames.frame import Region
from operators.testing import make_frame, make_region
from operators.wire.schema import Attribute, Model
from pipelines.execute.frame_answers import FrameAnswers
from pipelines.execute.lane import Dropped
from pipelines.execute.stopwatch import StageStopwatch
from pipelines.execute.surroundings import Surroundings
from pipelines.execute.walk import Walk, Walked
from pipelines.planning.planner import Planner, Start
from pipelines.query.dag import Dag, compile_dag
from serving.errors import TooLate
from tests.pipelines.queries import DETECT, TRACK, TYPE, query
from tests.turns import until

COLOUR = TYPE | {"name": "colour"}
FACES = {"name": "faces", "task": "detect", "input": "detect", "model": "faces"}
PLATES = DETECT | {"name": "plates"}


class Diary:
    """What nodes do, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []


class Node:
    """Waits for its turn to end, then finds parts of objects and names those that it is given."""

    def __init__(self, name: str, diary: Diary, turns: int = 3, error: Exception | None = None) -> None:
        self._name, self._diary, self._turns, self._error = name, diary, turns, error

    async def process(self, frame: Any, regions: Sequence[Region], call: Call) -> list[Region]:
        self._diary.said.append(f"{self._name} begins")
        known = [[each.label for each in region.attributes] for region in regions]
        model = Model(name=self._name, version="1", tier="t")
        for region in regions if self._name in ("type", "colour") else ():
            region.attributes.append(
                Attribute(name=self._name, label=self._name, confidence=1.0, provenance="oracle", model=model)
            )
        for _ in range(self._turns):
            await asyncio.sleep(0)
        self._diary.said.append(f"{self._name} ends")
        if self._error is not None:
            raise self._error
        for region, before in zip(regions, known, strict=True):  # nobody has noted anything meanwhile
            own = [self._name] if self._name in ("type", "colour") else []
            assert [each.label for each in region.attributes] == [*before, *own]
            if self._name == "track":
                region.track_id = 7 + region.id
        if self._name in ("detect", "plates"):
            return [make_region(label="moving"), make_region(0.5, label="moving")]
        return [make_region(parent_id=region.id) for region in regions] if self._name == "faces" else []

    def forget(self, stream: str) -> None:
        self._diary.said.append(f"{self._name} forgets")


def nodes(dag: Dag, diary: Diary, **other: Operator) -> dict[str, Operator]:
    """Each next one takes less long."""
    made = {node.name: Node(node.name, diary, 12 - 2 * place) for place, node in enumerate(dag.nodes)}
    return {**made, **other}


async def walked(dag: Dag, operators: Mapping[str, Operator], watch: StageStopwatch | None = None) -> Walked:
    walk = Walk(dag, operators, Planner())
    frame, start = make_frame(), Start("cam", 0.0, 1e9, False, (), False)
    return await walk.through(walk.begin(frame, start, None, watch or StageStopwatch(), FrameAnswers()))


def in_turn(dag: Dag) -> Dag:
    """The same query, every node of which runs alone."""
    return Dag(dag.query, dag.slo_ms, tuple((node,) for node in dag.nodes))


ALL = compile_dag(query(DETECT, PLATES, TRACK, TYPE, COLOUR, FACES))


async def test_nodes_of_a_group_run_at_the_same_time_and_groups_one_after_the_other() -> None:
    assert ALL.names == (("detect", "plates"), ("track",), ("type", "colour", "faces"))
    diary = Diary()
    await walked(ALL, nodes(ALL, diary))
    begins = [said for said in diary.said if said.endswith("begins")]
    assert diary.said[:2] == ["detect begins", "plates begins"]
    assert diary.said[6:9] == ["type begins", "colour begins", "faces begins"]
    assert begins == [f"{node.name} begins" for node in ALL.nodes]


async def test_the_result_is_that_of_one_node_after_the_other() -> None:
    together, alone = await walked(ALL, nodes(ALL, Diary())), await walked(in_turn(ALL), nodes(ALL, Diary()))
    assert together.regions == alone.regions
    assert [region.id for region in together.regions] == list(range(6))
    assert [region.parent_id for region in together.regions] == [None] * 4 + [0, 1]
    assert [[each.label for each in region.attributes] for region in together.regions[:2]] == [["type", "colour"]] * 2
    assert [region.track_id for region in together.regions[:2]] == [7, 8]


async def test_new_objects_of_a_node_between_reach_the_nodes_behind_it() -> None:
    class Adds(Node):
        async def process(self, frame: Any, regions: Sequence[Region], call: Call) -> list[Region]:
            return [make_region(0.7, label="moving")]

    class Sees(Node):
        async def process(self, frame: Any, regions: Sequence[Region], call: Call) -> list[Region]:
            self._diary.said += [str(region.id) for region in regions]
            return []

    dag, diary = compile_dag(query(DETECT, TRACK, TYPE)), Diary()
    found = await walked(dag, nodes(dag, Diary(), track=Adds("track", diary), type=Sees("type", diary)))
    assert diary.said == [str(region.id) for region in found.regions] == ["0", "1", "2"]


async def test_the_first_node_that_fails_fails_the_frame_once_all_beside_it_have_ended() -> None:
    diary = Diary()
    wrong = {name: Node(name, diary, 3, RuntimeError(f"no {name}")) for name in ("type", "faces")}
    found = await walked(ALL, nodes(ALL, diary, **wrong))
    assert (found.failure, found.regions) == ("type: RuntimeError: no type", ())
    assert {"type ends", "colour ends", "faces ends"} <= set(diary.said)
    assert list(found.nodes) == ["detect", "plates", "type"]


async def test_a_frame_that_is_too_late_for_one_node_is_dropped_once_all_beside_it_have_ended() -> None:
    diary = Diary()
    late = Node("type", diary, 0, TooLate("it is"))
    with pytest.raises(Dropped):
        await walked(ALL, nodes(ALL, diary, type=late))
    assert {"colour ends", "faces ends"} <= set(diary.said)


async def test_a_walk_that_is_given_up_gives_up_all_nodes_that_run() -> None:
    diary = Diary()
    operators = nodes(ALL, diary, type=Node("type", diary, 10**6), colour=Node("colour", diary, 10**6))
    walk = asyncio.create_task(walked(ALL, operators))
    await until(lambda: "faces begins" in diary.said)
    walk.cancel()
    with pytest.raises(asyncio.CancelledError):
        await walk
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_query_without_branches_makes_no_tasks() -> None:
    dag, made = compile_dag(query(DETECT, TRACK, TYPE)), list[int]()

    class Counts(Node):
        async def process(self, frame: Any, regions: Sequence[Region], call: Call) -> list[Region]:
            made.append(len(asyncio.all_tasks()))
            return await super().process(frame, regions, call)

    await walked(dag, {node.name: Counts(node.name, Diary()) for node in dag.nodes})
    assert made == [1, 1, 1]


async def test_nodes_that_have_nothing_to_look_at_make_no_tasks() -> None:
    cars, made = "detect[label == car]", list[int]()
    dag = compile_dag(query(DETECT, TYPE | {"input": "detect"}, COLOUR | {"input": cars}, FACES | {"input": cars}))
    assert dag.names == (("detect",), ("type", "colour", "faces"))

    class Counts(Node):
        async def process(self, frame: Any, regions: Sequence[Region], call: Call) -> list[Region]:
            made.append(len(asyncio.all_tasks()))
            return await super().process(frame, regions, call)

    await walked(dag, {node.name: Counts(node.name, Diary()) for node in dag.nodes})
    assert made == [1, 1, 1, 1]


async def test_the_time_in_which_several_nodes_run_counts_once() -> None:
    watch = StageStopwatch()
    await walked(ALL, nodes(ALL, Diary()), watch)
    stages_ms = watch.finish()
    assert list(stages_ms) == [node.name for node in ALL.nodes] + ["framework"]
    assert watch.in_stages_ms < sum(ms for name, ms in stages_ms.items() if name != "framework")


async def test_requests_are_told_their_share_of_the_time() -> None:
    """By what models take in batches, and by how many objects there are: two from the detector."""
    asked = query(DETECT | {"model": "finder"}, TYPE | {"input": "detect"}).model_copy(update={"priority": 3})
    dag, said = compile_dag(asked), dict[str, float]()

    class Asked(Node):
        async def process(self, frame: Any, regions: Sequence[Region], call: Call) -> list[Region]:
            said[self._name] = call.urgency.share
            assert call.urgency.priority == 3
            return await super().process(frame, regions, call)

    diary, steep = Diary(), {1: 0.001, 16: 0.004, 64: 0.016}
    curves = {dag.nodes[0].models[0]: {1: 0.001}, dag.nodes[1].models[0]: steep}
    operators = {node.name: Asked(node.name, diary) for node in dag.nodes}
    walk = Walk(dag, operators, Planner(), Surroundings(curves=curves.get))
    for _ in range(2):
        start = Start("cam", 0.0, 1e9, False, (), False)
        await walk.through(walk.begin(make_frame(), start, None, StageStopwatch(), FrameAnswers()))
    assert 0 < said["detect"] < 0.2
    assert said["type"] == 1.0
