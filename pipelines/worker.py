"""A worker: analyses the frames topic and publishes results until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable
from contextlib import nullcontext, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import faust

from operators.schema import Event, Result
from pipelines.agent import FrameAgent, sender
from pipelines.aio_broker import Broker, LocalAddress, wait_for_broker
from pipelines.app import StartAt, make_app, quiet
from pipelines.heartbeat import Heartbeat
from pipelines.intake import Analyser
from pipelines.kafka_memory import KafkaMemory, Remembering
from pipelines.memory import NoMemory
from pipelines.partition import Derive, TopicNames, Work
from pipelines.plan_publisher import PlanPublisher
from pipelines.process import tuned
from pipelines.publisher import HOPELESS, Publisher
from pipelines.resume import KafkaResume, NothingToResume
from serving.errors import Unavailable

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 30.0


class NoEvents:
    """Derives nothing."""

    def __call__(self, result: Result) -> list[Event]:
        """No events."""
        return []

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


@dataclass(frozen=True)
class WorkerConfig:
    """What a worker needs to know."""

    broker: Broker
    query: str
    """Name of the query; workers of the same name share the partitions."""
    topics: TopicNames
    start: StartAt = "earliest"
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
    alive: Path | None = None
    """Touched while the event loop turns and the Faust app runs: see ``pipelines.heartbeat``."""
    prefix: str = "sluice."
    """Of the topics, and so of the group: the same query on other topics is other work."""

    @property
    def group(self) -> str:
        """The consumer group."""
        return f"{self.prefix}{self.query}"


async def run_worker(
    config: WorkerConfig,
    analyser: Analyser,
    derive: Derive | None = None,
    plans: PlanPublisher | None = None,
    remembering: Remembering | None = None,
    *,
    stop: asyncio.Event,
    ready: asyncio.Event | None = None,
) -> None:
    """Work until ``stop``; then finish the frames in flight, publish, commit and return. ``ready``: set when it begins.

    ``remembering``: what is learnt of streams and must not be lost; nothing is kept on ``local://``. A broker that goes
    away is waited for; raises ``Unavailable`` where it stays away for ``config.give_up_s``.
    """
    quiet()
    heart = Heartbeat(config.alive)
    with tempfile.TemporaryDirectory(prefix="sluice-worker-") as scratch, tuned():
        while not stop.is_set():
            if not await _unless(stop, _reach(config, plans)):
                return
            app = make_app(config.group, config.broker, start=config.start, datadir=Path(scratch))
            work = _work(config, app, analyser, derive or NoEvents(), remembering)
            agent = FrameAgent(app, work, ready or asyncio.Event())
            await _live(app, agent, config, plans, stop, heart)


async def _reach(config: WorkerConfig, plans: PlanPublisher | None) -> None:
    if not isinstance(config.broker, LocalAddress):
        more = [plans.topic] if plans is not None and plans.needed else []
        await wait_for_broker(config.broker, [*astuple(config.topics), *more], config.give_up_s)


async def _live(
    app: faust.App,
    agent: FrameAgent,
    config: WorkerConfig,
    plans: PlanPublisher | None,
    stop: asyncio.Event,
    heart: Heartbeat,
) -> None:
    """The life of a Faust app: until ``stop``, or until the app gives up, which a new one makes good."""
    starting = asyncio.create_task(app.start())
    try:
        await _unless(stop, starting)
        if not stop.is_set():
            if not isinstance(config.broker, LocalAddress):
                log.info("analysing %s at %s", config.topics.frames, config.broker.url)
            async with plans.beside(Publisher(sender(app))) if plans else nullcontext(), agent.memory.kept():
                await _until_done(app, agent, stop, heart)
    except Exception as error:
        if agent.failed.done():
            raise
        if isinstance(error, HOPELESS):
            raise Unavailable(f"the broker refuses this worker: {error}") from None
        log.warning("the connection to the broker broke (%s): starting again", error)
    finally:
        await _stop(app, agent, starting)


def _work(
    config: WorkerConfig, app: faust.App, analyser: Analyser, derive: Derive, remembering: Remembering | None
) -> Work:
    broker, publisher = config.broker, Publisher(sender(app))
    if isinstance(broker, LocalAddress):
        return Work(analyser, publisher, config.topics, NothingToResume(), derive)
    resume = KafkaResume(broker, config.topics.results, config.query, lambda: app.producer.flush())
    memory = NoMemory() if remembering is None else KafkaMemory(broker, config.query, remembering, publisher)
    return Work(analyser, publisher, config.topics, resume, derive, memory)


async def _until_done(app: faust.App, agent: FrameAgent, stop: asyncio.Event, heart: Heartbeat) -> None:
    """Return on ``stop``; raise what ended the agent or the app. Only here does the heart beat."""
    beating = asyncio.create_task(heart.beat_while(lambda: not app.should_stop))
    crashed = asyncio.create_task(app.wait_until_stopped())
    try:
        stopping = asyncio.create_task(stop.wait())
        first: list[asyncio.Future[Any]] = [crashed, stopping, agent.failed]
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
    finally:
        crashed.cancel()
        beating.cancel()
    if agent.failed.done():
        agent.failed.result()
    if app.crashed and app.crash_reason is not None:
        raise app.crash_reason


async def _stop(app: faust.App, agent: FrameAgent, starting: asyncio.Task[None]) -> None:
    """Frames in flight first, so that the commit of the app's end covers them."""
    starting.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await starting
    try:
        await agent.close()
    finally:
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await app.stop()
        except TimeoutError:
            log.warning("the broker did not answer while stopping: frames may be analysed again")


async def _unless(stop: asyncio.Event, work: Awaitable[None]) -> bool:
    """Wait for the work, but no longer than until ``stop``; whether it was done."""
    task: asyncio.Future[None] = asyncio.ensure_future(work)
    stopping = asyncio.create_task(stop.wait())
    first: list[asyncio.Future[Any]] = [task, stopping]
    await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not task.done():
        task.cancel()
        return False
    await task
    return True
