"""One partition: nothing acknowledged before its result is stored, results in order, holding and releasing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from aiokafka.errors import MessageSizeTooLargeError, TopicAuthorizationFailedError
from msgspec.structs import replace as replaced

from operators.frames.codec import read_header
from operators.frames.frame import Frame
from operators.observer import UNOBSERVED, Observer
from operators.wire.schema import DeadLetter, Event, FrameHeader, Result, from_json, to_json
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.duties import Duties
from pipelines.partition.message import Message
from pipelines.partition.partition import Partition
from pipelines.partition.publisher import Outgoing, Publisher
from pipelines.partition.queries import Queries, QueryWork
from pipelines.partition.resume import Tail
from pipelines.partition.sampling import FrameSampling, Thinning
from pipelines.partition.shared_parts import WINDOW, WINDOW_BYTES, SharedParts, Valve
from pipelines.partition.tally import MissingFrames
from serving.errors import Unavailable
from tests.at_once import AT_ONCE
from tests.integration.worker_parts import CountingAnalyser, NoEvents, NothingToResume, OneEvent, frame_message
from tests.turns import turns, until

TOPICS = TopicNames("frames", "results", "events", "dlq")


@dataclass
class Bench:
    """A partition whose publishing can be held up, with a diary of what it did."""

    analyser: CountingAnalyser = field(default_factory=lambda: CountingAnalyser("query"))
    resume: NothingToResume = field(default_factory=NothingToResume)
    derive: NoEvents = field(default_factory=NoEvents)
    observer: Observer = UNOBSERVED
    streams: set[str] = field(default_factory=set)
    met: set[str] = field(default_factory=set)
    errors: list[Exception] = field(default_factory=list)
    missing: MissingFrames = field(default_factory=MissingFrames)
    sampling: FrameSampling = field(default_factory=FrameSampling)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    diary: list[tuple[str, int]] = field(default_factory=list)
    published: list[Outgoing] = field(default_factory=list)

    def partition(self) -> Partition:
        self.open.set()
        publisher = Publisher(self.send, AT_ONCE)
        known = {"met": self.met, "told": {*self.met}}
        query = QueryWork(
            Duties("query", TOPICS, self.analyser, self.derive), self.resume, sampling=self.sampling, **known
        )
        work = SharedParts("frames", publisher, Queries([query]), observer=self.observer, missing=self.missing)
        valve = Valve(
            lambda message: self.diary.append(("ack", message.offset)),
            lambda: self.diary.append(("hold", 0)),
            lambda: self.diary.append(("release", 0)),
            self.errors.append,
        )
        return Partition(work, valve, self.streams.add)

    async def send(self, message: Outgoing) -> Awaitable[object]:
        await self.open.wait()
        self.published.append(message)
        if message.topic == "results":
            self.diary.append(("result", from_json(message.value, Result).seq))
        else:
            self.diary.append((message.topic, 0))
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def of(self, kind: str) -> list[int]:
        return [number for name, number in self.diary if name == kind]


def message(offset: int, stream: str = "camera") -> Message:
    sent = frame_message(stream, offset)
    return Message("frames", 0, offset, 1000.0 + offset, sent.key, sent.value, sent.headers)


async def test_results_come_in_order_and_acks_behind_them() -> None:
    bench = Bench()
    partition = bench.partition()
    for offset in range(20):
        partition.take(message(offset))
    await until(lambda: len(bench.of("ack")) == 20)
    await partition.stop(1)
    assert bench.of("result") == list(range(20))
    assert bench.of("ack") == list(range(20))
    for offset in range(20):
        assert bench.diary.index(("result", offset)) < bench.diary.index(("ack", offset))
    assert bench.published[3].timestamp_s == 1003.0, "the frame's time, by which a successor finds it"


async def test_the_analyser_is_told_of_a_result_once_it_is_published() -> None:
    bench = Bench()
    partition = bench.partition()
    bench.open.clear()
    partition.take(message(0))
    await until(lambda: bench.analyser.seen["camera", 0] == 1)
    await turns()
    assert not bench.analyser.told, "background work for the frame would delay its result"
    bench.open.set()
    await until(lambda: bench.analyser.told["camera", 0] == 1)
    await partition.stop(1)


async def test_frames_that_never_came_are_told_with_the_stream_and_the_next_frame(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Published(NothingToResume):
        def recent(self, stream: str) -> list[Result]:
            return [CountingAnalyser("query").unanalysed(read_header(message(2, stream).headers), "analysed", None)]

    class Missed(Observer):
        def frames_missing(self, stream: str, count: int) -> None:
            told.append((stream, count))

    told: list[tuple[str, int]] = []
    bench = Bench(resume=Published(), observer=Missed())
    partition = bench.partition()
    offsets = [5, 6, 7, 10, 7, 8, 11]
    for offset in offsets:
        partition.take(message(offset))
    await until(lambda: len(bench.of("ack")) == len(offsets))
    await partition.stop(1)
    assert told == [("camera", 2), ("camera", 2)]
    assert bench.of("result") == offsets
    (line,) = (record.getMessage() for record in caplog.records)
    run = read_header(message(0).headers).run
    assert line == f"frames never came; they get no result: stream camera run {run}: 2 before seq 5"


@pytest.mark.parametrize(("answered", "told"), [((), [1]), (range(60, 113), [1]), (range(60, 110), [3, 1])])
async def test_frames_that_others_have_answered_meanwhile_are_not_missing(
    answered: Sequence[int], told: list[int]
) -> None:
    class Others(NothingToResume):
        found: Sequence[int] = ()

        def recent(self, stream: str) -> list[Result]:
            frames, self.found = self.found, ()
            headers = [read_header(message(seq, stream).headers) for seq in frames]
            return [CountingAnalyser("query").unanalysed(each, "analysed", None) for each in headers]

    class Missed(Observer):
        def frames_missing(self, stream: str, count: int) -> None:
            missing.append(count)

    missing: list[int] = []
    bench = Bench(resume=(others := Others()), observer=Missed())
    for offsets in ((0, 1, 2), (113, 115)):
        partition, before = bench.partition(), len(bench.of("ack"))
        for offset in offsets:
            partition.take(message(offset))
        await until(partial(lambda count: len(bench.of("ack")) == count, before + len(offsets)))
        await partition.stop(1)
        bench.missing.begin_anew()  # the partition goes, and comes back
        others.found = answered
    assert missing == told


async def test_frames_that_the_query_does_not_ask_for_are_acknowledged_and_counted() -> None:
    class LeftOut(Observer):
        def frame_left_out(self, header: FrameHeader, cause: str) -> None:
            told[cause].append(header.seq)

    told: defaultdict[str, list[int]] = defaultdict(list)
    wanted = {"camera": Thinning(fps=5, motion_gate=True)}
    bench = Bench(observer=LeftOut(), sampling=FrameSampling(wanted))
    partition = bench.partition()
    for seq in range(20):
        image = frame_message("camera", 0 if seq < 15 else 200)  # nothing moves before frame 15
        header = replaced(read_header(image.headers), seq=seq, media_time_s=seq / 25)
        partition.take(Message("frames", 0, seq, 1000.0, b"camera", image.value, (("frame", to_json(header)),)))
    await until(lambda: len(bench.of("ack")) == 20)
    await partition.stop(1)
    assert bench.of("ack") == list(range(20)), "in order, for those behind them to be acknowledged"
    assert bench.of("result") == [0, 15]
    assert told == {"sample": [seq for seq in range(20) if seq % 5], "motion_gate": [5, 10]}
    assert bench.of("dlq") == [], "nothing is wrong with them"


async def test_nothing_is_acknowledged_while_the_broker_is_away() -> None:
    bench = Bench()
    partition = bench.partition()
    bench.open.clear()
    for offset in range(5):
        partition.take(message(offset))
    await until(lambda: len(bench.analyser.seen) == 5)
    assert not bench.of("ack")
    await partition.stop(0.05)
    bench.open.set()
    await turns()
    assert not bench.of("ack"), "given up, so it comes again"


async def test_a_full_partition_is_held_and_released() -> None:
    bench = Bench()
    partition = bench.partition()
    bench.open.clear()
    for offset in range(WINDOW + 5):
        assert bool(bench.of("hold")) == (offset >= WINDOW)
        partition.take(message(offset))
        await asyncio.sleep(0)
    await until(lambda: len(bench.analyser.seen) == WINDOW + 5)
    assert not bench.of("release")
    bench.open.set()
    await until(lambda: len(bench.of("ack")) == WINDOW + 5)
    assert bench.of("release") == [0]
    await partition.stop(1)


async def test_a_partition_of_large_messages_is_held_long_before_it_has_many() -> None:
    bench = Bench()
    partition = bench.partition()
    bench.open.clear()
    large = bytes(WINDOW_BYTES // 4)
    for offset in range(4):
        assert not bench.of("hold")
        partition.take(replace(message(offset), value=large))
    assert bench.of("hold") == [0]
    bench.open.set()
    await until(lambda: len(bench.of("ack")) == 4)
    assert bench.of("release") == [0]
    await partition.stop(1)


async def test_stopping_finishes_what_is_in_work_and_leaves_the_rest() -> None:
    class Slow(NothingToResume):
        async def cover(self, since_s: float) -> None:
            if since_s >= 1000.0 + WINDOW:
                await asyncio.Event().wait()

    bench = Bench(analyser=CountingAnalyser("query", work_s=0.002), resume=Slow())
    partition = bench.partition()
    for offset in range(WINDOW * 3):
        partition.take(message(offset))
    await until(lambda: len(bench.of("ack")) > 0)
    await partition.stop(10)
    assert bench.of("ack") == bench.of("result") == list(range(WINDOW))


async def test_events_and_dead_letters_are_stored_before_the_result() -> None:
    class Failing(CountingAnalyser):
        async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
            raise RuntimeError("no such thing")

    bench = Bench(analyser=Failing("query"), derive=OneEvent())
    partition = bench.partition()
    partition.take(message(0))
    await until(lambda: bool(bench.of("ack")))
    await partition.stop(1)
    assert [name for name, _ in bench.diary] == ["events", "dlq", "result", "ack"]
    letter = from_json(bench.published[1].value, DeadLetter)
    assert (letter.reason, letter.message) == ("failed", "RuntimeError: no such thing")
    assert from_json(bench.published[2].value, Result).outcome == "failed"


class Diary(NoEvents):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, result: Result) -> list[Event]:
        self.seen.append(result.seq)
        return []


class Remembering(NothingToResume):
    """As after a kill: the first frames have results."""

    def __init__(self, answered: int) -> None:
        self.left = answered
        self.covered: list[float] = []

    async def cover(self, since_s: float) -> None:
        self.covered.append(since_s)

    def answered(self, header: FrameHeader) -> bool:
        return header.seq < self.left

    def recent(self, stream: str) -> list[Result]:
        tail = Tail("query")
        header = from_json(frame_message(stream, 2).headers[0][1], FrameHeader)
        tail.add(to_json(CountingAnalyser("query").unanalysed(header, "analysed", None)))
        return tail.recent(stream)


async def test_what_was_answered_is_acknowledged_without_a_second_result() -> None:
    resume, derive = Remembering(answered=3), Diary()
    bench = Bench(resume=resume, derive=derive)
    partition = bench.partition()
    for offset in range(5):
        partition.take(message(offset))
    await until(lambda: len(bench.of("ack")) == 5)
    await partition.stop(1)
    assert bench.of("result") == [3, 4]
    assert bench.of("ack") == [0, 1, 2, 3, 4]
    assert derive.seen == [2, 3, 4], "the life cycle goes on from the last results of the earlier life"
    assert resume.covered[0] == 1000.0
    assert bench.streams == {"camera"}


async def test_state_that_is_held_already_is_not_told_the_past_again() -> None:
    derive = Diary()
    bench = Bench(resume=Remembering(answered=3), derive=derive, met={"camera"})
    partition = bench.partition()
    for offset in range(5):
        partition.take(message(offset))
    await until(lambda: len(bench.of("ack")) == 5)
    await partition.stop(1)
    assert derive.seen == [3, 4]


async def test_a_result_that_is_too_large_becomes_a_failed_one() -> None:
    class Strict(Bench):
        async def send(self, message: Outgoing) -> Awaitable[object]:
            if len(message.value) > 500:
                raise MessageSizeTooLargeError
            return await super().send(message)

    class Wordy(CountingAnalyser):
        async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
            return self.unanalysed(header, "analysed", "x" * 1000)

    bench = Strict(analyser=Wordy("query"))
    partition = bench.partition()
    partition.take(message(0))
    await until(lambda: bool(bench.of("ack")))
    await partition.stop(1)
    result = from_json(bench.published[0].value, Result)
    assert result.outcome == "failed"
    assert result.cause is not None
    assert "too large for topic results" in result.cause


async def test_a_failure_to_publish_that_waiting_cannot_mend_is_told() -> None:
    class Refusing(Bench):
        async def send(self, message: Outgoing) -> Awaitable[object]:
            raise TopicAuthorizationFailedError("results")

    bench = Refusing()
    partition = bench.partition()
    partition.take(message(0))
    await until(lambda: bool(bench.errors))
    assert "cannot publish to results" in str(bench.errors[0])
    with pytest.raises(Unavailable):
        await partition.stop(1)
