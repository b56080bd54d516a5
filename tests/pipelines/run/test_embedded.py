"""A run in one process, as an iterator: one result a frame, nothing runs ahead of who takes them, nothing stays."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.observer import Observer, Observers
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.planning.planner import Planner
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from pipelines.run import embedded
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.feed import FRAMES_IN_FLIGHT
from serving.errors import SourceError

STREET = "synthetic:street?seed={seed}&duration_s=2&fps=10&width=160&height=90"
FRAMES = 20
ROOT = Path(__file__).parents[3]


class Finds:
    """Finds nothing, and notes which streams it was told to forget."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        return []

    def forget(self, stream: str) -> None:
        self.forgotten.append(stream)


class Captured(Observer):
    """Counts frames that capture has sampled."""

    def __init__(self) -> None:
        self.count = 0
        self.problems: list[str | None] = []

    def frame_captured(self, stream: str, seq: int) -> None:
        self.count += 1

    def worker_checked(self, waiting: object, oldest_s: float, problem: str | None) -> None:
        self.problems.append(problem)


def query(*uris: str) -> Query:
    streams = [{"id": f"gate-{number}", "uri": uri} for number, uri in enumerate(uris)]
    nodes = [{"name": "find", "task": "detect", "model": "any"}]
    return Query.model_validate({"version": 1, "name": "test", "slo_ms": 60_000, "streams": streams, "nodes": nodes})


def executor(wanted: Query, finds: Finds) -> Executor:
    return Executor(compile_dag(wanted), {"find": finds}, Planner(), Limits(), Surroundings())


async def test_every_frame_of_every_stream_has_one_result_in_order() -> None:
    wanted = query(*(STREET.format(seed=seed) for seed in range(3)))
    run = EmbeddedRun(capture_specs(wanted))
    seen: dict[str, list[int]] = {}
    async for found in run.results(executor(wanted, Finds()), asyncio.Event()):
        seen.setdefault(found.result.stream, []).append(found.result.seq)
        assert found.frame is not None
        assert found.frame.header.id == found.result.id
    assert seen == {f"gate-{number}": list(range(FRAMES)) for number in range(3)}


async def test_a_file_waits_for_who_takes_its_results() -> None:
    wanted, captured = query(STREET.format(seed=1)), Captured()
    run = EmbeddedRun(capture_specs(wanted), Observers([captured]))
    taken = 0
    async with aclosing(run.results(executor(wanted, Finds()), asyncio.Event())) as results:
        async for _ in results:
            taken += 1
            if taken < 4:
                await asyncio.sleep(0.2)
                assert captured.count <= taken + FRAMES_IN_FLIGHT
    assert taken == captured.count == FRAMES


async def test_leaving_a_run_ends_its_captures_and_forgets_its_streams() -> None:
    wanted, finds = query(STREET.format(seed=1).replace("duration_s=2", "duration_s=600")), Finds()
    before = set(threading.enumerate())
    async with aclosing(
        EmbeddedRun(capture_specs(wanted)).results(executor(wanted, finds), asyncio.Event())
    ) as results:
        async for found in results:
            if found.result.seq == 5:
                break
    assert finds.forgotten == ["gate-0"]
    async with asyncio.timeout(120):
        while {thread for thread in set(threading.enumerate()) - before if "asyncio" not in thread.name}:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_error_that_no_node_raised_costs_its_frame_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = query(STREET.format(seed=1))
    running = executor(wanted, Finds())
    submit = running.submit

    async def failing(header, load):  # type: ignore[no-untyped-def]
        if header.seq == 3:
            raise RuntimeError("not this one")
        return await submit(header, load)

    monkeypatch.setattr(running, "submit", failing)
    results = [found.result async for found in EmbeddedRun(capture_specs(wanted)).results(running, asyncio.Event())]
    assert [result.outcome for result in results] == ["analysed"] * 3 + ["failed"] + ["analysed"] * (FRAMES - 4)
    assert results[3].cause == "failed: RuntimeError: not this one"


async def test_a_source_that_cannot_be_read_is_told_of_once_the_others_have_ended(tmp_path: Path) -> None:
    wanted = query(str(tmp_path / "missing.mp4"), STREET.format(seed=1))
    results = EmbeddedRun(capture_specs(wanted)).results(executor(wanted, Finds()), asyncio.Event())
    for _ in range(FRAMES):
        assert (await anext(results)).result.stream == "gate-1"
    with pytest.raises(SourceError, match="stream gate-0"):
        await anext(results)


async def test_a_run_in_which_nothing_moves_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "CHECK_S", 0.01)
    monkeypatch.setattr(embedded, "STALLED_AFTER_S", 0.05)
    wanted, captured = query(STREET.format(seed=1)), Captured()
    run = EmbeddedRun(capture_specs(wanted), Observers([captured]))
    async with aclosing(run.results(executor(wanted, Finds()), asyncio.Event())) as results:
        async for found in results:
            if found.result.seq == 2:
                async with asyncio.timeout(120):
                    while captured.problems[-1] is None:  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                assert "none has been answered for" in (captured.problems[-1] or "")
            elif found.result.seq == 10:
                async with asyncio.timeout(120):
                    while captured.problems[-1] is not None:
                        await anext(results)
                        await asyncio.sleep(0.02)
                break


def test_a_run_brings_neither_faust_nor_a_kafka_client_nor_what_trains() -> None:
    clip, query_file = ROOT / "examples" / "street.mp4", ROOT / "examples" / "vehicles.yaml"
    script = (
        "import sys; from pipelines.cli import sluice\n"
        f"given = ['run', {str(query_file)!r}, '--source', {str(clip)!r}, '--limit', '5']\n"
        "sluice.main(given, standalone_mode=False)\n"
        "print('loaded:', *sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(told.stdout.partition("loaded:")[2].split())
    assert "onnxruntime" in loaded
    assert not loaded & {"faust", "mode", "aiokafka", "kafka", "aiohttp", "torch", "sklearn", "scipy", "matplotlib"}
