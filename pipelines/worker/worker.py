"""A worker: analyses the frames topic and publishes results until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import astuple, dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Literal

import faust

from operators.observer import UNOBSERVED, Observers
from operators.transports.fetches import PartitionLost
from operators.wire.schema import Counts, Event, Result
from pipelines.execute.surroundings import FinalStep
from pipelines.health.heartbeat import Heartbeat
from pipelines.health.liveness import STALLED_AFTER_S, Liveness
from pipelines.health.worker_health import WorkerHealth
from pipelines.kafka.rights import needs
from pipelines.observe.record.layout import Recording
from pipelines.partition.answer import Analyser
from pipelines.partition.dispatch import Derive, TopicNames
from pipelines.partition.partition import WINDOW, SharedParts
from pipelines.partition.publisher import HOPELESS, Publisher
from pipelines.partition.stream_state import NoStateStore, StateConfig
from pipelines.partition.tally import Tally
from pipelines.process.heap import giving_back
from pipelines.process.tasks import meanwhile
from pipelines.process.tuning import tuned
from pipelines.settings import StreamBounds
from pipelines.worker.agent import FrameAgent, sender
from pipelines.worker.app import SESSION_TIMEOUT_S, make_app, quiet
from pipelines.worker.kafka_transport import KafkaTransport
from pipelines.worker.plan_publisher import PlanPublisher
from serving.errors import Unavailable

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 30.0
StartAt = Literal["earliest", "latest"]


class NoEvents:
    """Derives nothing."""

    def __call__(self, result: Result) -> list[Event | Counts]:
        return []

    def forget(self, stream: str) -> None:
        """Do nothing: no state is kept."""


@dataclass(frozen=True)
class WorkerConfig:
    """The configuration of a worker."""

    transport: KafkaTransport
    query: str
    """Name of the query; workers of the same name share the partitions."""
    topics: TopicNames
    start: StartAt = "earliest"
    """Where a group begins that has never begun."""
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
    alive: Path | None = None
    """Says whether the worker makes progress: see ``pipelines.health.heartbeat``."""
    stalled_after_s: float = STALLED_AFTER_S
    """Time that messages may wait with none acknowledged before the worker counts as unhealthy."""
    ends_after_s: float = inf
    """The same, before the worker ends with an error; what the broker makes it wait for is not counted."""
    ending: Callable[[str], None] = lambda reason: None
    """Called with the reason when it begins to end so: what hangs may keep it from doing that well."""
    session_s: float = SESSION_TIMEOUT_S
    """Time without a heartbeat after which other workers take the partitions over."""
    prefix: str = "sluice."
    """Prefix of the topics and the group: the same query on other topics has a group of its own."""

    bounds: StreamBounds = field(default_factory=StreamBounds)
    observers: Observers = UNOBSERVED
    window: int = WINDOW
    """Frames of one partition in work at which it is no longer fetched from."""
    record: Recording | None = None
    """Frames and results around events and disagreements that are kept on disk."""
    final_steps: Sequence[FinalStep] = ()
    """Who else gets every analysed frame."""

    @property
    def group(self) -> str:
        return f"{self.prefix}{self.query}"


@dataclass(frozen=True)
class Duties:
    """A worker's steps for every frame, and its messages beside results."""

    analyser: Analyser
    derive: Derive = field(default_factory=NoEvents)
    """Makes events of results."""
    plans: PlanPublisher | None = None
    """Publishes how streams stand with their shortcuts."""
    state: StateConfig | None = None
    """The knowledge of streams that must not be lost."""


async def run_worker(
    config: WorkerConfig, duties: Duties, *, stop: asyncio.Event, ready: asyncio.Event | None = None
) -> None:
    """Work until ``stop``; then finish the frames in flight, publish, commit and return. ``ready``: set when it begins.

    A broker that goes away is waited for; raises ``Unavailable`` where it stays away for ``config.give_up_s``.
    """
    quiet()
    tally = Tally()
    liveness = Liveness(config.stalled_after_s, config.ends_after_s)
    health = WorkerHealth(Heartbeat(config.alive), liveness, tally, config.observers, config.ending)
    with tempfile.TemporaryDirectory(prefix="sluice-worker-") as scratch, tuned():
        async with meanwhile(giving_back()):
            start = config.start
            while not stop.is_set():
                health.waits(f"waiting for {config.transport.url} and its topics")
                if not await _unless(stop, _reach(config, duties.plans, start)):
                    return
                start = "earliest"
                app = make_app(
                    config.group,
                    config.transport,
                    datadir=Path(scratch),
                    session_s=config.session_s,
                )
                work = _work(config, app, duties, tally)
                agent = FrameAgent(app, work, ready or asyncio.Event())
                cause = await _live(agent, config, duties.plans, stop, health)
                if cause is not None:
                    await _unless(stop, asyncio.sleep(health.restarted(cause)))


async def _reach(config: WorkerConfig, plans: PlanPublisher | None, start: StartAt) -> None:
    frames, results, events, dlq = astuple(config.topics)
    plan = [plans.topic] if plans is not None and plans.needed else []
    wanted = needs(read=[frames, results], write=[results, events, dlq, *plan], group=config.group)
    await config.transport.wait(wanted, config.give_up_s)
    if start == "latest":
        await config.transport.begin_at_the_end(wanted, frames, config.give_up_s)


async def _live(
    agent: FrameAgent, config: WorkerConfig, plans: PlanPublisher | None, stop: asyncio.Event, health: WorkerHealth
) -> str | None:
    """The life of a Faust app: until ``stop``, or until it gives up, which a new one makes good; why it gave up."""
    app = agent.app
    starting = asyncio.create_task(app.start())
    cause = None
    try:
        async with health.watching(agent):
            await _unless(stop, starting)
            if not stop.is_set():
                config.transport.begun(config.topics.frames)
                publishing = plans.publishing(Publisher(sender(app))) if plans else nullcontext()
                async with publishing, agent.state_store.saving():
                    await _until_done(agent, stop)
    except Exception as error:
        if agent.failed.done():
            raise
        if isinstance(error, HOPELESS):
            raise Unavailable(f"the broker refuses this worker: {error}") from None
        lost = isinstance(error, PartitionLost)
        cause = str(error) if lost else f"the connection to the broker broke ({error})"
        log.warning("%s: starting again", cause)
    finally:
        await _stop(agent, starting)
    return cause


def _work(config: WorkerConfig, app: faust.App, duties: Duties, tally: Tally) -> SharedParts:
    state, publisher = duties.state, Publisher(sender(app))
    resume = config.transport.resume(config.query, config.topics.results, lambda: app.producer.flush())
    store = NoStateStore() if state is None else config.transport.state(config.query, state, publisher)
    bounds, observers, window = config.bounds, config.observers, config.window
    parts = duties.analyser, publisher, config.topics, resume, duties.derive, store
    return SharedParts(*parts, bounds, tally, observers, window)


async def _until_done(agent: FrameAgent, stop: asyncio.Event) -> None:
    """Return on ``stop``; raise what ended the agent or the app."""
    app = agent.app
    crashed = asyncio.create_task(app.wait_until_stopped())
    try:
        stopping = asyncio.create_task(stop.wait())
        first: list[asyncio.Future[Any]] = [crashed, stopping, agent.failed]
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
    finally:
        crashed.cancel()
    if agent.failed.done():
        agent.failed.result()
    if app.crashed and app.crash_reason is not None:
        raise app.crash_reason


async def _stop(agent: FrameAgent, starting: asyncio.Task[None]) -> None:
    """Frames in flight first, so that the commit of the app's end covers them."""
    starting.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await starting
    try:
        await agent.close()
    finally:
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await agent.app.stop()
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
