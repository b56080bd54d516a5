from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.common.tensors import Array
from serving.engines.groups import GroupRequest
from serving.scheduling.estimates import LatencyEstimate
from serving.scheduling.look_ahead import LookAheadPolicy
from serving.scheduling.requests import BACKGROUND, Request, Urgency
from serving.scheduling.schedule import BACKGROUND_S, Schedule, Session

CALM = Urgency(math.inf)


class Unused:
    """A group that is decided about, never run."""

    batch_limit = None

    def check(self, model: str, batch: Array) -> None:
        raise NotImplementedError

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        raise NotImplementedError

    def memory_bytes(self) -> int:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def session(name: str, max_batch: int, latency: LatencyEstimate) -> Session:
    return Session(name, Unused(), max_batch, latency)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


class Bench:
    """A schedule with one session per name; every item takes 10 ms."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *names: str, max_batch: int = 4) -> None:
        self.loop, self.schedule = loop, Schedule()
        latency = {1: 0.010, max_batch: 0.010 * max_batch}
        self.sessions = {name: Session(name, Unused(), max_batch, LatencyEstimate(latency)) for name in names}
        for each in self.sessions.values():
            self.schedule.add(each)

    def ask(self, name: str, urgency: Urgency = CALM, items: int = 1) -> Request:
        request = Request(name, np.zeros((items, 1), np.float32), urgency, self.loop.create_future())
        self.sessions[name].add(request, now=0.0)
        return request

    def next(self, now: float = 0.0) -> tuple[list[Request], list[Request]] | None:
        work = self.schedule.next(now)
        return work and (work.run, work.dropped)


def test_nothing_waits(loop: asyncio.AbstractEventLoop) -> None:
    assert Bench(loop, "a").next() is None


def test_the_requests_of_a_session_run_together_up_to_its_limit(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a", max_batch=2)
    first, second, third = (bench.ask("a") for _ in range(3))
    assert bench.next() == ([first, second], [])
    assert bench.next() == ([third], [])
    assert bench.next() is None


def test_sessions_take_turns(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a", "b", max_batch=1)
    requests = [bench.ask(name) for name in ("a", "a", "b", "a", "b")]
    order = [run[0].model for run, _ in iter(bench.next, None)]
    assert order == ["a", "b", "a", "b", "a"]
    assert len(requests) == len(order)


def test_who_cannot_be_in_time_is_dropped_only_if_that_is_allowed(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a")
    late = bench.ask("a", Urgency(1.0, droppable=True))
    kept = bench.ask("a", Urgency(1.0))
    assert bench.next(now=0.995) == ([kept], [late])


def test_requests_that_are_given_up_are_told_to_the_policy(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a")
    bench.ask("a", Urgency(1.0, droppable=True))
    assert bench.next(now=0.995) is not None
    assert bench.sessions["a"].arrivals.lost > 0


def test_time_needed_downstream_counts(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a")
    late = bench.ask("a", Urgency(1.0, droppable=True, downstream_s=0.5))
    assert bench.next(now=0.6) == ([], [late])


def test_background_waits_for_all_others_and_runs_in_short_batches(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a", "b")
    audits = [bench.ask("a", BACKGROUND) for _ in range(3)]
    urgent = bench.ask("b")
    assert bench.next() == ([urgent], [])
    assert BACKGROUND_S == 0.020
    assert bench.next() == (audits[:2], [])
    later = bench.ask("b")
    assert bench.next() == ([later], [])
    assert bench.next() == (audits[2:], [])


def test_a_long_background_request_runs_alone(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a")
    long, short = bench.ask("a", BACKGROUND, items=3), bench.ask("a", BACKGROUND)
    assert bench.next() == ([long], [])
    assert bench.next() == ([short], [])


def test_cancelled_requests_are_not_run(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a")
    gone, audit, kept = bench.ask("a"), bench.ask("a", BACKGROUND), bench.ask("a")
    gone.answer.cancel()
    audit.answer.cancel()
    assert bench.next() == ([kept], [])
    assert bench.next() is None


def test_a_session_hands_its_queue_to_the_one_that_replaces_it(loop: asyncio.AbstractEventLoop) -> None:
    bench = Bench(loop, "a", "b")
    waiting, audit = bench.ask("a"), bench.ask("a", BACKGROUND)
    heir = session("a + c", 4, LatencyEstimate())
    bench.schedule.replace(bench.sessions["a"], heir)
    work = bench.schedule.next(0.0)
    assert work is not None
    assert (work.session, work.run) == (heir, [waiting])
    assert bench.next() == ([audit], [])


@given(
    deadline=st.one_of(st.just(math.inf), st.floats(-0.05, 0.2)),
    downstream_s=st.sampled_from([0.0, 0.01, 0.05]),
    droppable=st.booleans(),
    items=st.integers(1, 9),
    background=st.booleans(),
)
def test_a_request_that_waits_alone_is_decided_about_as_in_a_queue(
    deadline: float, downstream_s: float, droppable: bool, items: int, background: bool
) -> None:
    loop = asyncio.new_event_loop()
    bench = Bench(loop, "a", "b", max_batch=4)
    request = bench.ask("b", Urgency(deadline, droppable=droppable, downstream_s=downstream_s), items)
    if background:
        bench.ask("a", BACKGROUND)
    mine = bench.sessions["b"]
    wanted = LookAheadPolicy(lambda _: 0.0, 0.0)([request], 0.0, mine.latency.table, mine.max_batch)
    assert bench.next() == (list(wanted.run), list(wanted.drop))
    assert not mine.waiting
    assert mine.arrivals.lost == pytest.approx(0.001 * len(wanted.drop))
    loop.close()
