"""Streams that are looked ahead in, in a whole run: frames wait for those behind them, and nothing waits for ever."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from operators.base import Call
from operators.frames.frame import Frame, Region
from pipelines.execute import ahead
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.planning.planner import Planner
from pipelines.query.dag import compile_dag
from pipelines.query.look_ahead import streams_ahead
from pipelines.query.query_file import Query
from pipelines.run import embedded
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from serving.common.clock import SYSTEM

SEEDS, FRAMES, WINDOW = (0, 1, 2, 4), 20, 12
STREET = "synthetic:street?seed={seed}&duration_s=2&fps=10&width=160&height=90"


class Looks:
    """Looks a window ahead on every frame, and notes how many frames it was shown."""

    def __init__(self) -> None:
        self.shown: list[int] = []
        self.began = asyncio.Event()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        assert call.ahead is not None
        self.began.set()
        frames = await call.ahead.until(frame.media_time_s + WINDOW / 10 - 0.01)
        assert [each.seq for each in frames] == list(range(frame.seq + 1, frame.seq + 1 + len(frames)))
        assert {each.stream for each in frames} <= {frame.stream}
        self.shown.append(len(frames) - min(WINDOW, FRAMES - 1 - frame.seq))
        return []

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


Order = list[tuple[str, int]]
"""Stream and number of frames, as their results came."""


async def collected(run: EmbeddedRun, executor: Executor, stop: asyncio.Event) -> Order:
    return [(found.result.stream, found.result.seq) async for found in run.results(executor, stop)]


def query(count: int) -> Query:
    streams = [{"id": f"gate-{seed}", "uri": STREET.format(seed=seed)} for seed in SEEDS[:count]]
    nodes = [{"name": "find", "task": "detect", "model": "any", "when": "needed"}]
    return Query.model_validate({"version": 1, "name": "test", "slo_ms": 60_000, "streams": streams, "nodes": nodes})


async def played(count: int) -> tuple[Looks, Order]:
    wanted, looks = query(count), Looks()
    streams = streams_ahead(wanted)
    assert len(streams) == count
    executor = Executor(
        compile_dag(wanted), {"find": looks}, Planner(), Limits(ahead=streams), Surroundings(clock=SYSTEM)
    )
    async with asyncio.timeout(120):
        return looks, await collected(EmbeddedRun(capture_specs(wanted), ahead=streams), executor, asyncio.Event())


def in_order(order: Order, count: int) -> bool:
    seqs = {stream: [seq for each, seq in order if each == stream] for stream, _ in order}
    return len(seqs) == count and all(each == list(range(FRAMES)) for each in seqs.values())


async def test_several_streams_are_shown_whole_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "PATIENCE_S", 20.0)  # a wait in vain would be noticed
    monkeypatch.setattr(ahead, "VAIN", 0)
    looks, order = await played_but_for_the_end(len(SEEDS))
    assert in_order(order, len(SEEDS))
    assert set(looks.shown) == {0}


async def played_but_for_the_end(count: int) -> tuple[Looks, Order]:
    """Nothing is waited for at the end, where nothing comes."""
    until = ahead.Waiting.until

    async def not_beyond(self: ahead.Waiting, media_time_s: float) -> Sequence[Frame]:
        last_s = (FRAMES - 1) / 10 - 0.01
        return [] if media_time_s - WINDOW / 10 > last_s - 0.05 else await until(self, min(media_time_s, last_s))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead.Waiting, "until", not_beyond)
        return await played(count)


async def test_where_memory_is_short_windows_are_shorter_and_everything_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedded, "decoded_memory", lambda: 0)
    monkeypatch.setattr(embedded, "MAX_BYTES", 8 * 160 * 90 * 3)
    looks, order = await played(3)
    assert in_order(order, 3)
    assert Counter(shown < 0 for shown in looks.shown)[True]


async def test_a_run_that_is_stopped_in_the_midst_of_a_window_ends() -> None:
    wanted, looks = query(1), Looks()
    stop = asyncio.Event()
    executor = Executor(
        compile_dag(wanted), {"find": looks}, Planner(), Limits(ahead=streams_ahead(wanted)), Surroundings()
    )
    run = EmbeddedRun(capture_specs(wanted), ahead=streams_ahead(wanted))
    running = asyncio.ensure_future(collected(run, executor, stop))
    await looks.began.wait()
    stop.set()
    async with asyncio.timeout(60):
        order = await running
    assert [seq for _, seq in order] == list(range(len(order)))


async def test_a_result_counts_as_published_once_the_one_behind_it_is_asked_for() -> None:
    wanted, told = query(1), list[int]()
    around = Surroundings(published=[lambda result: told.append(result.seq)])
    executor = Executor(compile_dag(wanted), {"find": Looks()}, Planner(), Limits(), around)
    async with asyncio.timeout(120):
        async for found in EmbeddedRun(capture_specs(wanted)).results(executor, asyncio.Event()):
            assert told == list(range(found.result.seq))
    assert told == list(range(FRAMES))
