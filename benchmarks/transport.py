"""What the Kafka consumer's mending is worth: latency at 25 frames/s, and frames/s under a backlog, with and without.

A worker process reads JPEG frames from a real broker, spends 4 ms on each (one at a time, as an engine does), and
publishes results; this process sends the frames and reads the results. ``stock`` is the same worker on the driver that
Faust brings. ``bare`` is a loop over aiokafka's own consumer and producer that does the same work without Faust and
without Sluice: what broker, client, JPEG and the machine leave no worker to gain.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from faust.transport.drivers import aiokafka as stock_driver
from kafka.admin import KafkaAdminClient

from benchmarks import harness
from operators.frames.codec import decode_frame, encode_frame, read_header
from operators.frames.frame import Frame, frame_of
from operators.transports.kafka import FETCH_MAX_WAIT_MS
from operators.wire.schema import (
    FRAME_HEADER_KEY,
    FrameHeader,
    FrameId,
    Outcome,
    Plan,
    Result,
    from_json,
    to_json,
)
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.duties import Duties
from pipelines.partition.publisher import Publisher
from pipelines.partition.queries import Queries, QueryWork
from pipelines.partition.shared_parts import SharedParts
from pipelines.settings import BrokerSettings
from pipelines.worker.agent import MAX_MESSAGE_BYTES, FrameAgent, make_app, sender
from tests.integration.worker_parts import NoEvents, NothingToResume
from tests.real.broker import KafkaBroker
from tests.real.kafka import RemoteBroker

CONSUMERS = MENDED, STOCK, BARE = ("mended", "stock", "bare")
COLOURS = ("#2a7", "#bbb", "#69c")
WORK_S = 0.004
FPS = 25
STREAMS = 8
PARTITIONS = 4
SETTLE_S = 2.0
"""Seconds at 25 frames/s that are not counted."""


@dataclass(frozen=True)
class Place:
    """A broker and topics of one measurement."""

    bootstrap: str
    topics: TopicNames

    @property
    def settings(self) -> BrokerSettings:
        """How to connect."""
        return BrokerSettings((self.bootstrap,))


class FourMilliseconds:
    """An analyser that decodes, then works for ``WORK_S``, on one frame at a time."""

    def __init__(self) -> None:
        self._engine = asyncio.Lock()

    async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
        """Find nothing."""
        await asyncio.to_thread(load)
        async with self._engine:
            await asyncio.sleep(WORK_S)
        return self.unanalysed(header, "analysed", "")

    def unanalysed(self, header: FrameHeader, outcome: Outcome, cause: str) -> Result:
        """A result without objects."""
        plan = Plan(slo_ms=250.0, deadline_met=True)
        return Result(
            stream=header.stream, run=header.run, seq=header.seq, query="benchmark", frame=header.info, outcome=outcome,
            plan=plan,
        )  # fmt: skip

    def published(self, result: Result) -> None:
        """Nothing is done then."""

    def busy(self, stream: str) -> bool:
        """Never for long."""
        return False

    async def settled(self, within_s: float) -> None:
        """They are not waited for."""

    def forget(self, stream: str) -> None:
        """Nothing is known."""


def work(place: Place, consumer: str) -> None:
    """The worker process: until it is terminated."""
    asyncio.run(_work_bare(place) if consumer == BARE else _work(place, consumer == MENDED))


async def _work_bare(place: Place) -> None:
    analyser, topics = FourMilliseconds(), place.topics
    consumer = AIOKafkaConsumer(
        topics.frames, bootstrap_servers=place.bootstrap, group_id=topics.frames, auto_offset_reset="earliest",
        fetch_max_wait_ms=FETCH_MAX_WAIT_MS, max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
    )  # fmt: skip
    async with _producer(place) as producer, consumer:
        async for record in consumer:
            header = read_header(record.headers)
            result = await analyser.submit(header, partial(decode_frame, header, record.value))
            await producer.send(topics.results, to_json(result), key=record.key)


STAND_INS: tuple[Callable[[], Any], ...] = (FourMilliseconds, NoEvents, NothingToResume)
"""For an executor, for events, and for results of before."""


async def _work(place: Place, mended: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        app = make_app("benchmark-" + place.topics.frames, place.settings, datadir=Path(scratch))
        if not mended:
            app.transport = stock_driver.Transport(app.conf.broker_consumer, app)
        publisher = Publisher(sender(app))
        analyser, events, resume = (each() for each in STAND_INS)
        work = QueryWork(Duties("load", place.topics, analyser, events), resume)
        FrameAgent(
            app,
            SharedParts(place.topics.frames, publisher, Queries([work])),
            asyncio.Event(),
        )
        await app.start()
        await asyncio.Event().wait()


@contextmanager
def working(place: Place, consumer: str) -> Iterator[None]:
    """A worker process beside the block."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=(place, consumer), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join(10)
        process.kill()


def new_place(bootstrap: str) -> Place:
    """Topics of their own for every measurement."""
    prefix = uuid.uuid4().hex[:8]
    topics = TopicNames(*(f"{prefix}.{kind}" for kind in ("frames", "results", "events", "dlq")))
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    spec = {
        "num_partitions": PARTITIONS,
        "replication_factor": 1,
        "configs": {"max.message.bytes": str(MAX_MESSAGE_BYTES)},
    }
    admin.create_topics(dict.fromkeys(vars(topics).values(), spec))
    admin.close()
    return Place(bootstrap, topics)


def measure_latency(bootstrap: str, seconds: float, consumer: str) -> dict[str, float]:
    """Milliseconds from the sending of a frame until its result is here, less the work."""
    place = new_place(bootstrap)
    count = int((SETTLE_S + seconds) * FPS)
    with working(place, consumer):
        sent, arrived = asyncio.run(_stream(place, count))
    counted = range(int(SETTLE_S * FPS), count)
    beyond_ms = np.array([arrived[seq] - sent[seq] - WORK_S for seq in counted]) * 1000
    return {
        "p50_ms": round(float(np.percentile(beyond_ms, 50)), 2),
        "p99_ms": round(float(np.percentile(beyond_ms, 99)), 2),
        **_throughput([arrived[seq] for seq in counted]),
    }


def measure_backlog(bootstrap: str, count: int, consumer: str) -> dict[str, float]:
    """Frames per second while everything waits on the broker already."""
    place = new_place(bootstrap)
    asyncio.run(_fill(place, count))
    arrived: dict[int, float] = {}
    with working(place, consumer):
        asyncio.run(_receive(place, count, arrived))
    return {"p50_ms": math.nan, "p99_ms": math.nan, **_throughput(list(arrived.values()))}


def _throughput(moments: Sequence[float]) -> dict[str, float]:
    ordered = np.sort(moments)
    return {
        "frames_per_s": round((len(ordered) - 1) / float(ordered[-1] - ordered[0]), 1),
        "longest_gap_s": round(float(np.diff(ordered).max()), 3),
    }


async def _stream(place: Place, count: int) -> tuple[dict[int, float], dict[int, float]]:
    """When each frame was sent and its result arrived; the clock starts when the first one is through."""
    arrived: dict[int, float] = {}
    sent: dict[int, float] = {}
    receiving = asyncio.create_task(_receive(place, count, arrived))
    async with _producer(place) as producer:
        started = math.inf
        for seq, message in enumerate(_messages(count)):
            await asyncio.sleep(max(0.0, started + seq / FPS - time.time()) if seq > 1 else 0.0)
            sent[seq] = time.time()
            await producer.send(place.topics.frames, **message)
            while not arrived:  # noqa: ASYNC110 - once, until the worker has started
                await asyncio.sleep(0.01)
            started = min(started, time.time())
        await receiving
    return sent, arrived


async def _fill(place: Place, count: int) -> None:
    async with _producer(place) as producer:
        await asyncio.gather(*[await producer.send(place.topics.frames, **message) for message in _messages(count)])


def _producer(place: Place) -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=place.bootstrap, max_request_size=MAX_MESSAGE_BYTES)


async def _receive(place: Place, count: int, arrived: dict[int, float]) -> None:
    """Note when each result arrived, by sequence number."""
    consumer = AIOKafkaConsumer(
        place.topics.results, bootstrap_servers=place.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50
    )
    async with consumer, asyncio.timeout(300):
        while len(arrived) < count:
            record = await consumer.getone()
            arrived.setdefault(from_json(record.value, Result).seq, time.time())


def _messages(count: int) -> Iterator[dict[str, Any]]:
    """Frames of 768×432 with so much noise that a JPEG takes about 90 KB."""
    noise = np.random.default_rng(0).normal(128, 18, (432, 768, 3))
    image = np.clip(noise, 0, 255).astype(np.uint8)
    _, jpeg = encode_frame(frame_of(FrameId("", "", 0), image))
    for seq in range(count):
        stream = f"camera-{seq % STREAMS}"
        header = FrameHeader(
            stream=stream, run="run", seq=seq, width=768, height=432, media_time_s=seq / FPS,
            captured_at=datetime.now(UTC), encoding="jpeg",
        )  # fmt: skip
        yield {"value": jpeg, "key": stream.encode(), "headers": [(FRAME_HEADER_KEY, to_json(header))]}


def measure(quick: bool) -> harness.Outcome:
    """Both loads on both consumers, by turns."""
    rounds, seconds, frames = (1, 6.0, 500) if quick else (5, 20.0, 1500)
    named = os.environ.get("SLUICE_TEST_KAFKA")
    with nullcontext(RemoteBroker(named)) if named else KafkaBroker() as broker:
        bootstrap = broker.bootstrap
        loads: dict[str, Callable[..., dict[str, float]]] = {
            f"{FPS} frames/s": partial(measure_latency, bootstrap, seconds),
            "backlog": partial(measure_backlog, bootstrap, frames),
        }
        variants = {(load, consumer): partial(run, consumer) for load, run in loads.items() for consumer in CONSUMERS}
        found = harness.interleaved(variants, rounds)
    rows = [
        {"load": load, "consumer": consumer, "round": number, **figures}
        for (load, consumer), measured in found.items()
        for number, figures in enumerate(measured)
    ]
    return harness.Outcome(rows, _headline(rows), partial(_draw, rows))


def _median(rows: Sequence[harness.Row], load: str, consumer: str, figure: str) -> float:
    return float(np.median([row[figure] for row in rows if (row["load"], row["consumer"]) == (load, consumer)]))


def _headline(rows: Sequence[harness.Row]) -> dict[str, float]:
    mended, stock = (_median(rows, "backlog", consumer, "frames_per_s") for consumer in (MENDED, STOCK))
    return {
        "p99_ms": round(_median(rows, f"{FPS} frames/s", MENDED, "p99_ms"), 2),
        "p99_ms_bare": round(_median(rows, f"{FPS} frames/s", BARE, "p99_ms"), 2),
        "backlog_ratio": round(mended / stock, 2),
        "backlog_fps": mended,
        "backlog_fps_stock": stock,
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    panels = (
        (f"{FPS} frames/s", "p50_ms", "median latency beyond the work, ms"),
        (f"{FPS} frames/s", "p99_ms", "99th percentile, ms"),
        ("backlog", "frames_per_s", "frames/s under a backlog"),
        ("backlog", "longest_gap_s", "longest gap between results, s"),
    )
    for axes, (load, key, title) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        axes.bar(
            CONSUMERS, [_median(rows, load, consumer, key) for consumer in CONSUMERS], color=["#2a7", "#bbb", "#69c"]
        )
        for consumer in CONSUMERS:
            each = [row[key] for row in rows if (row["load"], row["consumer"]) == (load, consumer)]
            axes.plot([consumer] * len(each), each, "k.", markersize=4)
        axes.set_title(title, fontsize=8)


if __name__ == "__main__":
    harness.run("transport", measure, __doc__ or "")
