"""What the executor tells a planner, and asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from operators.base import Call
from operators.decision import Decision
from operators.frames.frame import Frame, Region
from operators.testing import make_frame, make_region
from operators.wire.schema import FrameHeader
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.planning.planner import Start, Step
from pipelines.query.dag import compile_dag
from tests.fake_clock import FakeClock
from tests.pipelines.queries import DETECT, TYPE, query
from tests.turns import turns

DAG = compile_dag(query(DETECT, slo_ms=100))


class Recorder:
    """A planner that notes what it is told, and has the operator settle what it decides."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def arrived(self, stream: str, now_s: float) -> None:
        self.told.append(("arrived", stream))

    def begins(self, start: Start) -> None:
        self.told.append(start)

    def plan(self, step: Step) -> Decision:
        self.told.append(step)
        return Decision("motion", budget_ms=step.budget_ms, why="as told")

    def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
        self.told.append(("ended", stream, node, took_s >= 0, plan.variant))
        return {"motion": 0.0125}

    def forget(self, stream: str) -> None:
        self.told.append(("forget", stream))


class Gate:
    """A detector that waits until it may go on."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        await self.open.wait()
        return [make_region()]

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


async def test_a_planner_hears_of_frames_and_nodes_and_its_words_are_in_the_result() -> None:
    clock, planner, gate = FakeClock(), Recorder(), Gate()
    around = Surroundings((), clock)
    executor = Executor(DAG, {"detect": gate}, planner, Limits({"cam": "drop_late"}), around)
    tasks = [asyncio.create_task(executor.submit(header(seq, clock), lambda: make_frame())) for seq in range(6)]
    await turns()
    gate.open.set()
    results = [await task for task in tasks]
    executor.forget("cam")
    now_s = clock.monotonic_s()
    starts = [each for each in planner.told if isinstance(each, Start)]
    assert [len(each.waiting_s) for each in starts] == [5, 4, 3, 2, 1, 0]
    assert [each.crowded for each in starts] == [True, True, False, False, False, False]
    assert starts[0].waiting_s == [now_s + 0.1] * 5
    assert all(each.droppable and each.deadline_s == now_s + 0.1 for each in starts)
    assert planner.told.count(("arrived", "cam")) == 6
    assert planner.told.count(("ended", "cam", "detect", True, "motion")) == 6
    assert planner.told[-1] == ("forget", "cam")
    (step, *_) = [each for each in planner.told if isinstance(each, Step)]
    assert (step.node, step.models, step.deadline_s) == ("detect", ("motion",), now_s + 0.1)
    said = results[0].plan.nodes["detect"]
    assert (said.variant, said.why, said.expected_ms) == ("motion", "as told", {"motion": 12.5})


def header(seq: int, clock: FakeClock) -> FrameHeader:
    return FrameHeader(
        stream="cam",
        run="r",
        seq=seq,
        width=160,
        height=120,
        media_time_s=seq / 10,
        captured_at=clock.now(),
        encoding="bgr24",
    )


class Finds:
    """A detector that finds what it is told, and a recogniser that does nothing with it."""

    def __init__(self, *labels: str) -> None:
        self._labels = labels

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        return [make_region(label=label) for label in self._labels]

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


async def test_a_planner_hears_which_nodes_will_have_nothing_to_do() -> None:
    face = TYPE | {"name": "face", "input": "detect[label == face]", "model": ["a", "b"]}
    vehicle = TYPE | {"name": "vehicle", "input": "detect[label == car]"}
    dag, planner, clock = compile_dag(query(DETECT, face, vehicle)), Recorder(), FakeClock()
    for seq, (label, idle) in enumerate({"face": ["vehicle"], "car": []}.items()):
        operators = {"detect": Finds(label), "face": Finds(), "vehicle": Finds()}
        executor = Executor(dag, operators, planner, Limits({}), Surroundings((), clock))
        planner.told.clear()
        await executor.submit(header(seq, clock), make_frame)
        steps = {each.node: each.idle for each in planner.told if isinstance(each, Step)}
        assert steps == {"detect": [], "face": idle, "vehicle": []}
