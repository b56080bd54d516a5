"""A worker at a real broker."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer
from faust import App
from faust.types import TP

from operators.transports.kafka import Consumer, ConsumerThread
from operators.wire.schema import DeadLetter, Event, FrameHeader, Result, from_json, to_json
from pipelines.partition.duties import Duties
from pipelines.partition.shared_parts import WINDOW
from pipelines.worker.agent import FrameAgent
from pipelines.worker.query_lives import Roster
from pipelines.worker.worker import WorkerConfig, run_worker
from serving.errors import Unavailable
from tests.integration.worker_parts import (
    CountingAnalyser,
    NoEvents,
    OneEvent,
    Received,
    Sent,
    Wire,
    frame_message,
    names,
    plain,
)
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka


@asynccontextmanager
async def working(wire: Wire, analyser: CountingAnalyser, **duties: object) -> AsyncIterator[asyncio.Task[None]]:
    """A worker that runs inside the block and must stop cleanly at its end."""
    stop = asyncio.Event()
    config = WorkerConfig(wire.broker, wire.query, wire.topics.frames, give_up_s=20)
    task = asyncio.create_task(run_worker(config, wire.roster(analyser, **duties), stop=stop))  # type: ignore[arg-type]
    try:
        yield task
    finally:
        stop.set()
        await asyncio.wait_for(task, 120)


async def results_of(wire: Wire, count: int, timeout_s: float = 120) -> list[Result]:
    """All results, once there are so many."""
    return [
        from_json(message.value, Result) for message in await messages_of(wire, wire.topics.results, count, timeout_s)
    ]


async def messages_of(wire: Wire, topic: str, count: int, timeout_s: float = 120) -> list[Received]:
    """All messages of a topic, once there are so many."""
    async with asyncio.timeout(timeout_s):
        found = await wire.all_of(topic)
        while len(found) < count:
            await asyncio.sleep(0.2)
            found = await wire.all_of(topic)
    return found


async def test_every_frame_gets_one_result_in_order(wire: Wire) -> None:
    streams = [f"camera-{number}" for number in range(5)]
    await wire.send(frame_message(stream, seq) for seq in range(40) for stream in streams)
    async with working(wire, CountingAnalyser(wire.query, work_s=0.002)):
        results = await results_of(wire, 200)

    by_stream = defaultdict(list)
    for result in results:
        by_stream[result.stream].append(result.seq)
    assert by_stream == {stream: list(range(40)) for stream in streams}
    assert {result.outcome for result in results} == {"analysed"}


async def test_poison_goes_to_the_dead_letters_and_its_neighbours_go_on(wire: Wire) -> None:
    good = [frame_message("camera", seq) for seq in range(10)]
    header = from_json(frame_message("camera", 99).headers[0][1], FrameHeader)
    jpeg = frame_message("camera", 99).value or b""

    def poisoned(value: bytes, **changes: object) -> Sent:
        changed = msgspec.structs.replace(header, **changes)  # type: ignore[arg-type]
        return Sent(b"camera", value, (("frame", to_json(changed)),))

    huge = bytearray(jpeg)
    at = jpeg.index(b"\xff\xc0")
    huge[at + 5 : at + 9] = struct.pack(">HH", 65_500, 65_500)
    poison = [
        Sent(b"camera", b"no header at all"),
        Sent(b"camera", b"\x00\xff", (("frame", b"{not json"),)),
        Sent(b"camera", jpeg, (("frame", b'{"schema": "sluice.frame/2", "stream": "camera"}'),)),
        poisoned(b"\x12\x34" * 400, seq=100),
        poisoned(jpeg[: len(jpeg) // 2], seq=101),
        poisoned(bytes(huge), seq=102, width=65_500, height=65_500),
        poisoned(b"1234", seq=103, encoding="bgr24"),
        poisoned(b"", seq=104, encoding="none", cause="buffer_full"),
    ]
    await wire.send([message for pair in zip(good, poison, strict=False) for message in pair] + good[len(poison) :])
    async with working(wire, CountingAnalyser(wire.query)):
        letters = [from_json(m.value, DeadLetter) for m in await messages_of(wire, wire.topics.dlq, 7)]
        results = await results_of(wire, 15)

    assert [letter.reason for letter in letters] == [
        "bad_header",
        "bad_header",
        "wrong_schema",
        "undecodable_image",
        "undecodable_image",
        "image_too_large",
        "undecodable_image",
    ]
    assert [letter.offset for letter in letters] == [1, 3, 5, 7, 9, 11, 13]
    assert letters[0].topic == wire.topics.frames
    assert base64.b64decode(letters[0].value_base64 or "") == b"no header at all"
    outcomes = {result.seq: result.outcome for result in results}
    assert outcomes == {
        **dict.fromkeys(range(10), "analysed"),
        **dict.fromkeys(range(100, 104), "failed"),
        104: "dropped",
    }
    assert [result.cause for result in results if result.seq == 104] == ["buffer_full"]


async def test_events_follow_from_results(wire: Wire) -> None:
    await wire.send([frame_message("camera", 0)])
    async with working(wire, CountingAnalyser(wire.query), derive=OneEvent()):
        [message] = await messages_of(wire, wire.topics.events, 1)

    assert message.key == b"camera"
    assert from_json(message.value, Event).track_id == 7


async def test_a_worker_that_was_stopped_goes_on_where_it_was(wire: Wire) -> None:
    await wire.send(frame_message("camera", seq) for seq in range(300))
    analyser = CountingAnalyser(wire.query, work_s=0.2)
    async with working(wire, analyser):
        await results_of(wire, 40)
    half = len(analyser.seen)
    assert 40 <= half < 300
    analyser.work_s = 0
    async with working(wire, analyser):
        results = await results_of(wire, 300)

    assert sorted(result.seq for result in results) == list(range(300))
    begun_twice = sum(analyser.seen.values()) - len(analyser.seen)
    assert begun_twice <= WINDOW, "what was in work when its time was up"


async def test_workers_share_the_partitions_and_hand_them_over_without_repeating(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str
) -> None:
    wire = Wire(plain(kafka_broker), topic_prefix)
    streams = [f"camera-{number}" for number in range(12)]
    first, second = CountingAnalyser(wire.query, work_s=0.05), CountingAnalyser(wire.query, work_s=0.05)

    async def send(seqs: range) -> None:
        await wire.send(frame_message(stream, seq) for seq in seqs for stream in streams)

    await send(range(50))
    async with working(wire, first):
        await results_of(wire, 20)
        async with working(wire, second):
            frames = 50
            while len(second.seen) < 300:  # however long it takes the second to join
                await send(range(frames, frames + 10))
                frames += 10
                await results_of(wire, (frames - 20) * len(streams))
        results = await results_of(wire, frames * len(streams))

    assert len(results) == frames * len(streams), "a graceful hand-over repeats nothing"
    assert Counter((result.stream, result.seq) for result in results) == dict.fromkeys(
        ((stream, seq) for stream in streams for seq in range(frames)), 1
    )
    assert first.forgotten, "the first dropped the state of what moved away"


async def test_a_rebalance_that_begins_before_the_last_is_over_loses_nothing(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker still looks up where to begin when partitions are taken from it, which takes its time."""
    looking, revoking = asyncio.Event(), asyncio.Event()
    goes_on: list[bool] = []
    look, revoke = Consumer.seek_to_committed, FrameAgent._revoked

    async def look_slowly(self: Consumer) -> object:
        found = await look(self)
        if not looking.is_set():
            looking.set()
            await revoking.wait()
        return found

    async def revoke_slowly(self: FrameAgent, app: App, revoked: set[TP], **options: object) -> None:
        await revoke(self, app, revoked, **options)
        if revoked:
            revoking.set()
            await asyncio.sleep(2)
            goes_on.append(app.consumer.flow_active)

    monkeypatch.setattr(Consumer, "seek_to_committed", look_slowly)
    monkeypatch.setattr(FrameAgent, "_revoked", revoke_slowly)
    wire = Wire(plain(kafka_broker), topic_prefix)
    streams = [f"camera-{number}" for number in range(12)]
    await wire.send(frame_message(stream, seq) for seq in range(20) for stream in streams)
    async with working(wire, CountingAnalyser(wire.query)):
        await looking.wait()
        async with working(wire, CountingAnalyser(wire.query)):
            results = await results_of(wire, 240)
    assert goes_on[0] is False, "nothing is read before it is known who reads it"
    assert Counter((result.stream, result.seq) for result in results) == dict.fromkeys(
        ((stream, seq) for stream in streams for seq in range(20)), 1
    )


async def test_a_seek_goes_back_to_the_beginning_where_nothing_was_committed(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str
) -> None:
    wire = Wire(plain(kafka_broker), topic_prefix)
    await wire.send(frame_message("camera", seq) for seq in range(5))
    where = {"group_id": wire.query, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = AIOKafkaConsumer(wire.topics.frames, bootstrap_servers=kafka_broker.bootstrap, **where)
    await consumer.start()
    try:
        assert [(await consumer.getone()).offset for _ in range(3)] == [0, 1, 2]
        thread = SimpleNamespace(_ensure_consumer=lambda: consumer)
        await ConsumerThread._seek_to_committed(thread)  # type: ignore[arg-type]
        assert (await consumer.getone()).offset == 0
    finally:
        await consumer.stop()


async def test_missing_topics_are_named(kafka_broker: KafkaBroker | RemoteBroker) -> None:
    config = WorkerConfig(plain(kafka_broker), "none", names("absent.").frames, give_up_s=1)
    with pytest.raises(Unavailable, match=r"has no topic absent.dlq.v1, .*sluice topics create"):
        await run_worker(
            config,
            Roster([Duties("none", names("absent."), CountingAnalyser("none"), NoEvents())]),
            stop=asyncio.Event(),
        )
