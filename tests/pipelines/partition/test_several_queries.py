"""One partition for several queries: a message is acknowledged once all of them have stored their results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import partial

import pytest

from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader, Result, from_json
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.duties import Duties
from pipelines.partition.message import Message
from pipelines.partition.partition import Partition
from pipelines.partition.publisher import Outgoing, Publisher
from pipelines.partition.queries import Queries, QueryWork
from pipelines.partition.sampling import FrameSampling, Thinning
from pipelines.partition.shared_parts import SharedParts, Valve
from tests.at_once import AT_ONCE
from tests.integration.worker_parts import CountingAnalyser, NoEvents, NothingToResume, frame_message
from tests.turns import turns, until

MOVING = {"cam": Thinning(motion_gate=True)}


class Answered(NothingToResume):
    """Frames up to one have results."""

    def __init__(self, last: int) -> None:
        self.last = last

    def answered(self, header: FrameHeader) -> bool:
        return header.seq <= self.last


class Bench:
    def __init__(self, *works: QueryWork) -> None:
        self.queries, self.published, self.acknowledged = Queries(works), list[Outgoing](), list[int]()
        self.closed: dict[str, asyncio.Event] = {}
        self.errors: list[Exception] = []
        valve = Valve(lambda each: self.acknowledged.append(each.offset), self.hold, self.hold, self.errors.append)
        work = SharedParts("frames", Publisher(self.send, AT_ONCE), self.queries)
        self.tally = work.tally
        self.partition = Partition(work, valve, lambda stream: None)

    def hold(self) -> None:
        """No transport."""

    async def send(self, message: Outgoing) -> Awaitable[object]:
        if (gate := self.closed.get(message.topic)) is not None:
            await gate.wait()
        self.published.append(message)
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def of(self, topic: str) -> list[tuple[str, int]]:
        results = [from_json(each.value, Result) for each in self.published if each.topic == topic]
        return [(each.query, each.seq) for each in results]


def work(
    name: str,
    topic: str = "results",
    streams: Collection[str] = (),
    analyser: CountingAnalyser | None = None,
    **more: object,
) -> QueryWork:
    topics = TopicNames("frames", topic, "events", "dlq")
    duties = Duties(name, topics, analyser or CountingAnalyser(name), NoEvents(), streams=streams)
    return QueryWork(duties, NothingToResume(), **more)  # type: ignore[arg-type]


def message(offset: int, stream: str = "cam") -> Message:
    sent = frame_message(stream, offset)
    return Message("frames", 0, offset, 1000.0 + offset, sent.key, sent.value, sent.headers)


async def test_queries_that_thin_a_stream_alike_look_at_a_frame_at_the_same_moment() -> None:
    order: list[tuple[str, int]] = []

    class Told(CountingAnalyser):
        async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
            order.append((self.query, header.seq))
            return self.unanalysed(header, "analysed", None)

    works = [work(name, analyser=Told(name), sampling=FrameSampling(MOVING)) for name in "ab"]
    works.append(work("c", analyser=Told("c")))
    bench = Bench(*works)
    moved = [0, 0, 200, 200, 30, 30, 30, 200]
    for offset, brightness in enumerate(moved):
        head, picture = message(offset), message(brightness)
        bench.partition.take(replace(head, value=picture.value))
    await until(lambda: len(bench.acknowledged) == len(moved))
    await bench.partition.stop(1)
    assert [each for each in order if each[0] != "c"] == [(name, seq) for seq in (0, 2, 4, 7) for name in "ab"]
    assert [seq for name, seq in order if name == "c"] == list(range(8))


async def test_a_message_is_acknowledged_when_every_query_has_stored_its_result() -> None:
    bench = Bench(work("a", "fast"), work("b", "slow"))
    bench.closed["slow"] = asyncio.Event()
    for offset in range(3):
        bench.partition.take(message(offset))
    await until(lambda: len(bench.of("fast")) == 3)
    await turns()
    assert not bench.acknowledged, "the slow one's results are not stored"
    bench.closed["slow"].set()
    await until(lambda: len(bench.acknowledged) == 3)
    await bench.partition.stop(1)
    assert bench.of("slow") == [("b", seq) for seq in range(3)]
    assert bench.acknowledged == [0, 1, 2]


async def test_a_later_message_that_is_done_sooner_leaves_the_worker_as_far_as_the_earlier_one() -> None:
    bench = Bench(work("a", "fast", {"yard"}), work("b", "slow", {"gate"}))
    bench.closed["slow"] = asyncio.Event()
    for offset, stream in enumerate(["yard", "gate", "yard", "yard"]):
        bench.partition.take(message(offset, stream))
    await until(lambda: len(bench.acknowledged) == 3)
    assert bench.tally.acknowledged == {("frames", 0): 1}, "the second message waits"
    assert bench.tally.lag_s(1010.0) == 10.0
    bench.closed["slow"].set()
    await until(lambda: len(bench.acknowledged) == 4)
    assert bench.tally.acknowledged == {("frames", 0): 4}
    assert bench.tally.lag_s(1010.0) == 7.0
    await bench.partition.stop(1)


async def test_each_query_goes_on_where_it_was() -> None:
    behind, ahead = work("a"), work("b")
    ahead.resume = Answered(1)
    bench = Bench(behind, ahead)
    for offset in range(3):
        bench.partition.take(message(offset))
    await until(lambda: len(bench.acknowledged) == 3)
    await bench.partition.stop(1)
    assert sorted(bench.of("results")) == [("a", 0), ("a", 1), ("a", 2), ("b", 2)]


async def test_a_topic_has_one_dead_letter_of_a_message_however_many_queries_there_are() -> None:
    bench = Bench(work("a"), work("b"))
    damaged = message(1)
    bench.partition.take(Message("frames", 0, 0, 0.0, b"cam", b"x", ()))
    bench.partition.take(Message("frames", 0, 1, 1.0, b"cam", b"no picture", damaged.headers))
    await until(lambda: len(bench.acknowledged) == 2)
    await bench.partition.stop(1)
    assert [each.topic for each in bench.published].count("dlq") == 2
    assert sorted(bench.of("results")) == [("a", 1), ("b", 1)]


async def test_a_query_that_comes_later_begins_with_the_next_frame_and_one_that_goes_finishes_its_frames() -> None:
    first, second = work("a"), work("b")
    bench = Bench(first)
    bench.partition.take(message(0))
    await until(lambda: bench.acknowledged == [0])
    bench.queries.put(second)
    bench.closed["results"] = asyncio.Event()
    bench.partition.take(message(1))
    await turns()
    bench.queries.remove(first)
    leaving = asyncio.create_task(bench.partition.leave(first))
    bench.partition.take(message(2))
    await turns()
    assert not leaving.done()
    bench.closed["results"].set()
    await leaving
    await until(lambda: len(bench.acknowledged) == 3)
    bench.queries.remove(second)
    bench.partition.take(message(3))
    await until(lambda: len(bench.acknowledged) == 4)
    await bench.partition.stop(1)
    assert sorted(bench.of("results")) == [("a", 0), ("a", 1), ("b", 1), ("b", 2)]


async def test_the_results_of_a_changed_query_come_behind_those_of_what_it_was() -> None:
    before = work("a", analyser=CountingAnalyser("a", work_s=0.02))
    bench = Bench(before)
    for offset in range(3):
        bench.partition.take(message(offset))
    await turns()
    bench.queries.put(work("a", after=before))
    for offset in range(3, 6):
        bench.partition.take(message(offset))
    await until(lambda: len(bench.acknowledged) == 6)
    await bench.partition.stop(1)
    assert bench.of("results") == [("a", seq) for seq in range(6)]


async def test_a_query_that_cannot_open_a_stream_fails_alone() -> None:
    class Damaged(NothingToResume):
        def recent(self, stream: str) -> list[Result]:
            raise RuntimeError("nothing is known")

    bad = work("b")
    bad.resume = Damaged()
    bench = Bench(work("a"), bad)
    bench.partition.take(message(0))
    await until(lambda: bench.acknowledged == [0])
    await bench.partition.stop(1)
    results = {each.query: each.outcome for each in map(partial(from_result, bench), range(3)) if each is not None}
    assert results == {"a": "analysed", "b": "failed"}


def from_result(bench: Bench, place: int) -> Result | None:
    found = bench.published[place]
    return from_json(found.value, Result) if found.topic == "results" else None


def test_a_stream_is_wanted_by_those_that_list_it_or_none_and_by_all_where_nobody_does() -> None:
    gate, yard, every = work("gate", streams={"gate"}), work("yard", streams={"yard", "gate"}), work("every")
    assert [each.duties.query for each in Queries([gate, yard, every]).of("yard")] == ["yard", "every"]
    assert [each.duties.query for each in Queries([gate, yard]).of("gate")] == ["gate", "yard"]
    assert [each.duties.query for each in Queries([gate, yard]).of("other")] == ["gate", "yard"]
    assert [each.duties.query for each in Queries([gate]).of("other")] == ["gate"]
    assert Queries().of("gate") == []


async def test_queries_set_out_together_and_in_order_where_one_has_a_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    class Order(CountingAnalyser):
        async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
            submitted.append((self.query, header.seq))
            return await super().submit(header, load)

    async def still(self: object, thinning: Thinning, header: FrameHeader, data: bytes) -> bool:
        await asyncio.sleep(0.02 if header.seq == 0 else 0)
        return header.seq == 10

    monkeypatch.setattr("pipelines.partition.sampling.MotionGates.still", still)
    submitted: list[tuple[str, int]] = []
    thinned = FrameSampling({"cam": Thinning(5.0, motion_gate=True)})
    gated = work("gated", analyser=Order("gated"), sampling=thinned)
    plain = work("plain", analyser=Order("plain"))
    bench = Bench(gated, plain)
    for offset in range(15):
        bench.partition.take(message(offset))
    await until(lambda: len(bench.acknowledged) == 15)
    await bench.partition.stop(1)
    assert [seq for query, seq in submitted if query == "plain"] == list(range(15))
    together = [submitted.index(("plain", seq)) - submitted.index(("gated", seq)) for seq in (0, 5)]
    assert together == [1, 1], "frames that both want are asked for by both before anything else"
    assert [seq for query, seq in submitted if query == "gated"] == [0, 5]
