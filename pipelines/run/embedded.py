"""Everything in one process, no broker: capture threads → ``local://`` → the worker's own agents → sinks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from operators.capture.service import Capture, Consumer
from operators.capture.spec import CaptureSpec
from operators.observer import UNOBSERVED, Observers
from operators.transports.local_broker import LocalBroker
from operators.wire.schema import Result, from_json
from pipelines.execute.ahead import FRAMES_AHEAD
from pipelines.execute.executor import Executor
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.partition import WINDOW
from pipelines.process.tasks import in_own_thread
from pipelines.run.feed import FRAMES_IN_FLIGHT, MAX_BYTES, Feed
from pipelines.settings import decoded_memory
from pipelines.worker.local_transport import LocalTransport
from pipelines.worker.worker import Duties, WorkerConfig, run_worker
from serving.common.clock import Clock
from serving.errors import SourceError

TOPICS = TopicNames("frames", "results", "events", "dlq")
MAX_PARTITIONS = 8


class Sink(Protocol):
    """Takes results one by one, those of each stream in order."""

    def write(self, result: Result, encoded: bytes) -> None:
        """Take a result and its JSON, quickly: it is called on the event loop. ``SluiceError`` ends the run."""
        ...


class EmbeddedRun:
    """One run of a query over sources in this process; use it once."""

    def __init__(
        self,
        query: str,
        specs: Sequence[CaptureSpec],
        sinks: Sequence[Sink],
        observers: Observers = UNOBSERVED,
        ahead: Collection[str] = (),
        recorded: bool = False,
    ) -> None:
        """``ahead``: streams that are looked ahead in; ``recorded``: whether frames are kept."""
        self._query = query
        self._specs = specs
        self._sinks = sinks
        self._observers = observers
        self._transport = LocalTransport(f"run-{uuid.uuid4().hex[:12]}")
        self._broker = LocalBroker.named(self._transport.name)
        self._max_bytes = max(MAX_BYTES, decoded_memory()) if ahead else MAX_BYTES
        """Bound on raw frames in flight; a partition's log must hold as much."""
        self._settled = asyncio.Event()
        self._feed = Feed(self._broker, TOPICS.frames, self._max_bytes, ahead, recorded)
        self._window = max(WINDOW, FRAMES_AHEAD * len(ahead) + FRAMES_IN_FLIGHT * len(specs))
        """Partitions are shared, and no stream may wait for frames that stand behind others' in vain."""

    async def run(self, executor: Executor, stop: asyncio.Event) -> None:
        """Run until every source has ended or ``stop`` is set; every frame sampled by then gets its result.

        A source that cannot be read does not disturb the others: its ``SourceError`` is raised at the end.
        """
        for topic, max_bytes in ((TOPICS.frames, self._max_bytes), (TOPICS.results, MAX_BYTES)):
            self._broker.create_topic(topic, min(len(self._specs), MAX_PARTITIONS), max_bytes=max_bytes)
        ready, worker_stop = asyncio.Event(), asyncio.Event()
        config = WorkerConfig(self._transport, self._query, TOPICS, observers=self._observers, window=self._window)
        worker = asyncio.create_task(run_worker(config, Duties(executor), stop=worker_stop, ready=ready))
        deliver = asyncio.create_task(self._deliver())
        sources = asyncio.create_task(self._sources(ready, stop, executor.clock))
        try:
            await asyncio.wait([sources, worker, deliver], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.close()
            worker_stop.set()
            for task in (deliver, sources):
                if not task.done():
                    task.cancel()
            outcomes = await asyncio.gather(worker, deliver, sources, return_exceptions=True)
            LocalBroker.forget(self._transport.name)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _sources(self, ready: asyncio.Event, stop: asyncio.Event, clock: Clock) -> None:
        """Capture in threads until all sources have ended, then wait for the results of their frames."""
        await ready.wait()
        captures = [
            Capture(spec, Consumer(self._feed.emit, drop=self._feed.drop), clock=clock, observer=self._observers)
            for spec in self._specs
        ]
        stopping = asyncio.create_task(_stop_all(captures, stop))
        try:
            outcomes = await asyncio.gather(
                *(in_own_thread(capture.run) for capture in captures), return_exceptions=True
            )
            while not self._feed.empty:
                self._settled.clear()
                await self._settled.wait()
        finally:
            stopping.cancel()
            for capture in captures:
                capture.stop()
        for spec, outcome in zip(self._specs, outcomes, strict=True):
            if isinstance(outcome, SourceError):
                raise SourceError(f"stream {spec.stream}: {outcome}", outcome.reason)
            if isinstance(outcome, BaseException):
                raise outcome

    async def _deliver(self) -> None:
        """Give every result to the sinks, and its credit back to its stream."""
        appended = asyncio.Event()
        self._broker.subscribe(appended, [TOPICS.results])
        offsets: dict[int, int] = {}
        try:
            while True:
                appended.clear()
                for result, encoded in self._new_results(offsets):
                    for sink in self._sinks:
                        sink.write(result, encoded)
                    self._feed.settle(result)
                    self._settled.set()
                await appended.wait()
        finally:
            self._broker.unsubscribe(appended)

    def _new_results(self, offsets: dict[int, int]) -> Iterator[tuple[Result, bytes]]:
        for number in sorted(self._broker.partitions_for_topic(TOPICS.results)):
            for record in self._broker.read("sinks", (TOPICS.results, number), offsets.get(number, 0), 1000):
                offsets[number] = record.offset + 1
                encoded = bytes(record.value or b"")
                yield from_json(encoded, Result), encoded


async def _stop_all(captures: Sequence[Capture], stop: asyncio.Event) -> None:
    await stop.wait()
    for capture in captures:
        capture.stop()
