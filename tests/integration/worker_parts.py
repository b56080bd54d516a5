"""The worker's tests share: an analyser that only counts, frames, and a broker with topics of a test's own."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka.admin import KafkaAdminClient

from operators.frames.codec import encode_frame
from operators.frames.frame import Frame, frame_of
from operators.wire.schema import (
    FRAME_HEADER_KEY,
    BoundingBox,
    Counts,
    Event,
    FrameHeader,
    FrameId,
    FrameInfo,
    Outcome,
    Plan,
    Result,
    to_json,
)
from pipelines.kafka.options import client_options
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.duties import Duties
from pipelines.settings import BrokerSettings
from pipelines.worker.query_lives import Roster
from tests.real.kafka import KafkaBroker, RemoteBroker

PARTITIONS = 4


@dataclass
class CountingAnalyser:
    """Decodes every frame, works on it as long as told, a stream's frames one after the other, and finds no objects."""

    query: str
    work_s: float = 0.0
    seen: Counter[tuple[str, int]] = field(default_factory=Counter)
    forgotten: list[str] = field(default_factory=list)
    told: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Frames whose results it was told to be published."""
    _turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
        frame = await asyncio.to_thread(load)
        assert frame.image.shape == (header.height, header.width, 3)
        async with self._turns[header.stream]:
            await asyncio.sleep(self.work_s)
        self.seen[header.stream, header.seq] += 1
        return self.unanalysed(header, "analysed", None)

    def unanalysed(self, header: FrameHeader, outcome: Outcome, cause: str | None) -> Result:
        info = FrameInfo(
            width=header.width,
            height=header.height,
            media_time_s=header.media_time_s,
            captured_at=header.captured_at,
        )
        plan = Plan(slo_ms=100, deadline_met=outcome == "analysed")
        return Result(
            stream=header.stream, run=header.run, seq=header.seq, query=self.query, frame=info, outcome=outcome,
            cause=cause, plan=plan,
        )  # fmt: skip

    def published(self, result: Result) -> None:
        self.told[result.stream, result.seq] += 1

    def busy(self, stream: str) -> bool:
        return self._turns[stream].locked()

    async def settled(self, within_s: float) -> None:
        pass

    def forget(self, stream: str) -> None:
        self.forgotten.append(stream)


class NothingToResume:
    """No worker has answered before."""

    def reset(self) -> None:
        pass

    async def cover(self, since_s: float) -> None:
        pass

    def answered(self, header: FrameHeader) -> bool:
        return False

    def recent(self, stream: str) -> list[Result]:
        return []


class NoEvents:
    """Results cause no events."""

    reach_s = 3.0

    def finish(self) -> list[Event | Counts]:
        return []

    def __call__(self, result: Result) -> list[Event | Counts]:
        return []

    def forget(self, stream: str) -> None:
        pass


class OneEvent(NoEvents):
    """Every result causes the same event."""

    def __call__(self, result: Result) -> list[Event | Counts]:
        box = BoundingBox(x_min=0, y_min=0, x_max=1, y_max=1)
        return [
            Event(
                type="new", stream=result.stream, run=result.run, seq=result.seq, track_id=7, label="car",
                confidence=1.0, media_time_s=0.0, first_media_time_s=0.0, last_media_time_s=0.0, bounding_box=box,
            )
        ]  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """A message to put on the frames topic."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def frame_message(stream: str, seq: int, run: str = "run", size: tuple[int, int] = (64, 48)) -> Sent:
    """A good frame with some content."""
    width, height = size
    image = np.full((height, width, 3), seq % 256, np.uint8)
    image[: height // 2] = np.arange(width, dtype=np.uint8)[None, :, None]
    frame = frame_of(FrameId(stream, run, seq), image, seq / 25, datetime.now(UTC))
    header, data = encode_frame(frame)
    return Sent(stream.encode(), data, ((FRAME_HEADER_KEY, to_json(header)),))


@dataclass(frozen=True)
class Received:
    """A message of any topic."""

    partition: int
    key: bytes | None
    value: bytes


class Wire:
    """A real broker, with topics of its own."""

    def __init__(self, broker: BrokerSettings, prefix: str) -> None:
        self.broker = broker
        self.query = query_name(prefix)
        self.topics = names(prefix)
        admin = KafkaAdminClient(**client_options(broker))
        admin.create_topics(
            {
                topic: {
                    "num_partitions": PARTITIONS,
                    "replication_factor": 1,
                    "configs": {"max.message.bytes": "8388608"},
                }
                for topic in vars(self.topics).values()
            }
        )
        admin.close()

    def roster(self, analyser: object, derive: NoEvents | None = None, **more: object) -> Roster:
        """One query."""
        return Roster([Duties(self.query, self.topics, analyser, derive or NoEvents(), **more)])  # type: ignore[arg-type]

    async def send(self, messages: Iterable[Sent]) -> None:
        producer = AIOKafkaProducer(**client_options(self.broker), max_request_size=8 << 20)
        await producer.start()
        try:
            stored = [
                await producer.send(self.topics.frames, message.value, message.key, headers=list(message.headers))
                for message in messages
            ]
            await asyncio.gather(*stored)
        finally:
            await producer.stop()

    async def all_of(self, topic: str) -> list[Received]:
        consumer = AIOKafkaConsumer(
            topic, **client_options(self.broker), auto_offset_reset="earliest", enable_auto_commit=False
        )
        await consumer.start()
        try:
            ends = await consumer.end_offsets(list(consumer.assignment()))
            found: list[Received] = []
            while len(found) < sum(ends.values()):
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    found += [Received(record.partition, record.key, record.value) for record in records]
            return found
        finally:
            await consumer.stop()


def names(prefix: str) -> TopicNames:
    return TopicNames(*(f"{prefix}{kind}.v1" for kind in ("frames", "results", "events", "dlq")))


def query_name(prefix: str) -> str:
    return f"query-{prefix.strip('.')}"


def plain(broker: KafkaBroker | RemoteBroker) -> BrokerSettings:
    """Without user or encryption."""
    return BrokerSettings((broker.bootstrap,))
