"""The runs that are measured. Every function here is called in a process of its own (``alone``)."""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from kafka import KafkaConsumer
from rich.console import Console

from benchmarks.pipeline_parts.account import Account
from benchmarks.pipeline_parts.cost import Marks, beyond_ms, middle
from benchmarks.pipeline_parts.workload import QUERY, models, query, sources
from operators.observer import Observers
from operators.publish.jsonl import JsonLines
from operators.publish.track_events import Lifecycles, TrackMessage
from operators.wire.schema import Result, from_json
from pipelines.assembly.environment import Environment
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.duties import Duties
from pipelines.process.tuning import tuned
from pipelines.query.dag import compiled
from pipelines.query.lineage import STAGES
from pipelines.query.query_file import Events, Query
from pipelines.report.run_counts import RunCounts
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.progress import RunProgress
from pipelines.settings import BrokerSettings
from pipelines.worker.query_lives import Roster
from pipelines.worker.worker import WorkerConfig, run_worker
from serving.backend import Backend
from tests.pipelines.plain_executor import build_executor

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Load:
    """What is run."""

    clip: Path
    streams: int
    frames: int
    """Frames of each stream."""
    realtime: bool = False

    @property
    def total(self) -> int:
        """Frames of all streams."""
        return self.streams * self.frames


@dataclass(frozen=True)
class Measured:
    """What a run tells of itself."""

    marks: Marks
    beyond_ms: list[float]
    """The part of each frame's time from capture to result that no node accounts for."""


@dataclass(frozen=True)
class Kafka:
    """A broker, and topics of one measurement."""

    bootstrap: str
    prefix: str

    @classmethod
    def fresh(cls, bootstrap: str) -> Kafka:
        """With topics that are not there yet."""
        return cls(bootstrap, f"{uuid.uuid4().hex[:8]}.")

    def topics(self, wanted: Query) -> TopicNames:
        """Their full names."""
        named = wanted.publish.topics.with_prefix(self.prefix)
        return TopicNames(*(named.name(kind) for kind in ("frames", "results", "events", "dlq")))


def alone(work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Do it in a process of its own, so that its processor time is of nothing else."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments, **options).result()


class Meter:
    """Notes when each frame's result is there, and keeps account of the processor time between two of them."""

    def __init__(self, load: Load) -> None:
        self.marks = Marks()
        self.beyond_ms: list[float] = []
        self.done = asyncio.Event()
        self._expected = load.total
        self._account = Account()
        self._accounted = {frame * load.streams for frame in middle(load.frames)}

    def write(self, result: Result) -> None:
        """As a sink."""
        self.marks.note()
        number = len(self.marks.wall_s) - 1
        if number in self._accounted:
            self.marks.framework_s[number] = self._account.framework_s()
        self.beyond_ms.append(beyond_nodes_ms(result, time.time()))
        if number + 1 == self._expected:
            self.done.set()


class MeteredEvents(Lifecycles):
    """The events that a worker derives; it is asked for them once per result, just before it publishes them."""

    def __init__(self, meter: Meter, settings: Events) -> None:
        super().__init__(settings.update_every_s, settings.end_after_s)
        self._meter = meter

    def __call__(self, result: Result) -> list[TrackMessage]:
        """Note the result."""
        self._meter.write(result)
        return super().__call__(result)


def beyond_nodes_ms(result: Result, now_s: float) -> float:
    """The time from capture until now that no node accounts for; for a dropped frame, which has no such time, NaN."""
    if result.outcome == "failed":
        raise RuntimeError(f"stream {result.stream}, frame {result.seq} failed: {result.cause}")
    if result.outcome == "dropped":
        return math.nan
    nodes_ms = [ms for stage, ms in result.plan.stages_ms.items() if stage not in STAGES]
    return beyond_ms((now_s - result.frame.captured_at.timestamp()) * 1000, nodes_ms)


def run_local(load: Load) -> Measured:
    """As ``sluice run --out FILE`` does it."""
    return asyncio.run(_run_local(load))


async def _run_local(load: Load) -> Measured:
    wanted, meter = query(load.clip, load.streams), Meter(load)
    specs = capture_specs(wanted, limit=load.frames, realtime=load.realtime)
    engine = Backend(models())
    await engine.start()
    with closing(JsonLines(os.devnull)) as lines, RunProgress(specs, Console(stderr=True)) as progress:
        of = compiled(wanted, models())
        executor = await build_executor(of, Environment.of(of, engine))
        observers = Observers([RunCounts(), progress])
        with tuned():
            async for found in EmbeddedRun(specs, observers).results(executor, asyncio.Event()):
                lines.write(found.result)
                meter.write(found.result)
    await engine.stop()
    return Measured(meter.marks, meter.beyond_ms)


def run_worker_on(load: Load, place: Kafka, ready: Path | None = None) -> Marks:
    """As ``sluice worker`` does it, until it has answered every frame of the load; makes the file when it begins.

    A group and a query of its own each time: it reads from the beginning and knows of no earlier answers.
    """
    return asyncio.run(_run_worker(load, place, ready))


async def _run_worker(load: Load, place: Kafka, ready: Path | None) -> Marks:
    wanted, meter = query(load.clip, load.streams), Meter(load)
    engine = Backend(models())
    await engine.start()
    of = compiled(wanted, models())
    executor = await build_executor(of, Environment.of(of, engine))
    config = WorkerConfig(
        BrokerSettings((place.bootstrap,)), f"run-{uuid.uuid4().hex[:8]}", place.topics(wanted).frames
    )
    begun = asyncio.Event()
    telling = asyncio.create_task(_tell(begun, ready))
    duties = Duties(config.name, place.topics(wanted), executor, MeteredEvents(meter, wanted.publish.events))
    await run_worker(config, Roster([duties]), stop=meter.done, ready=begun)
    await telling
    await engine.stop()
    return meter.marks


async def _tell(begun: asyncio.Event, ready: Path | None) -> None:
    await begun.wait()
    if ready is not None:
        await asyncio.to_thread(ready.touch)


def create_topics(place: Kafka) -> None:
    """``sluice topics create``."""
    _sluice("topics", "create", str(QUERY), "--broker", place.bootstrap, "--prefix", place.prefix)


def capture(load: Load, place: Kafka) -> None:
    """``sluice capture`` until the clip's end."""
    words = [str(QUERY), *sources(load.clip, load.streams), "--limit", str(load.frames)]
    words += ["--broker", place.bootstrap, "--prefix", place.prefix]
    if load.realtime:
        words.append("--realtime")
    _sluice("capture", *words)


def _sluice(*words: str) -> None:
    command = [str(Path(sys.executable).with_name("sluice")), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read_beyond_ms(load: Load, place: Kafka) -> list[float]:
    """Read the results as any consumer would; the milliseconds of each frame beyond its nodes."""
    found: list[float] = []
    consumer = KafkaConsumer(
        place.topics(query(load.clip, 1)).results,
        bootstrap_servers=place.bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=60_000,
        metadata_max_age_ms=1000,  # the topic is made by capture, which starts at the same time
    )
    with closing(consumer):
        for record in consumer:
            found.append(beyond_nodes_ms(from_json(record.value, Result), time.time()))
            if len(found) == load.total:
                break
    return found
