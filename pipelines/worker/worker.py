"""A worker: analyses the frames topic and publishes results until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from operators.observer import UNOBSERVED, Observers
from operators.transports.fetches import PartitionLost
from pipelines.health.liveness import STALLED_AFTER_S, Liveness
from pipelines.kafka.async_clients import begin_at_the_ends, wait_for_broker
from pipelines.observe.record.layout import Recording
from pipelines.partition.publisher import HOPELESS
from pipelines.partition.shared_parts import WINDOW, SharedParts
from pipelines.partition.tally import Tally
from pipelines.process.heap import giving_back
from pipelines.process.tasks import meanwhile, unless
from pipelines.process.tuning import tuned
from pipelines.settings import BrokerSettings, StreamBounds
from pipelines.worker.agent import SESSION_TIMEOUT_S, FrameAgent, make_app, quiet
from pipelines.worker.query_lives import QueryLives, Roster
from pipelines.worker.worker_health import WorkerHealth
from serving.errors import Unavailable

if TYPE_CHECKING:
    from serving.backend import Backend

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 25.0
StartAt = Literal["earliest", "latest"]


SideWork = Callable[["Backend", Callable[[], int]], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class WorkerConfig:
    broker: BrokerSettings
    name: str
    """The name of the query, or that of a group of queries; workers of the same name share the partitions."""
    frames: str
    """The topic of the frames."""
    start: StartAt = "earliest"
    """Where a group begins that has never begun."""
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
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
    topics_prefix: str | None = None
    """The prefix in place of that which queries say; None: theirs."""
    bounds: StreamBounds = field(default_factory=StreamBounds)
    observers: Observers = UNOBSERVED
    window: int = WINDOW
    """Frames of one partition in work at which it is no longer fetched from."""
    record: Recording | None = None
    """Frames and results around events and disagreements that are kept on disk."""
    beside: SideWork | None = None
    """Other work on the same networks, for as long as the worker runs."""

    @property
    def group(self) -> str:
        return f"{self.prefix}{self.name}"


async def run_worker(
    config: WorkerConfig, roster: Roster, *, stop: asyncio.Event, ready: asyncio.Event | None = None
) -> None:
    """Work until ``stop``; then finish the frames in flight, publish, commit and return. ``ready``: set when it begins.

    A broker that goes away is waited for; raises ``Unavailable`` where it stays away for ``config.give_up_s``.
    """
    quiet()
    tally = Tally()
    liveness = Liveness(config.stalled_after_s, config.ends_after_s)
    health = WorkerHealth(liveness, tally, config.observers, config.ending)
    with tempfile.TemporaryDirectory(prefix="sluice-worker-") as scratch, tuned():
        async with meanwhile(giving_back()):
            start = config.start
            while not stop.is_set():
                health.waits(f"waiting for {config.broker.url} and its topics")
                if not await unless(stop, _reach(config, roster, start)):
                    return
                start = "earliest"
                app = make_app(config.group, config.broker, datadir=Path(scratch), session_s=config.session_s)
                life = QueryLives(config.broker, app, roster.duties)
                bounds, observers = config.bounds, config.observers
                work = SharedParts(config.frames, life.publisher, life.queries, bounds, tally, observers, config.window)
                agent = life.agent(work, ready or asyncio.Event())
                async with roster.living(life):
                    cause = await _live(agent, config, roster.attending(life), stop, health)
                if cause is not None:
                    await unless(stop, asyncio.sleep(health.restarted(cause)))


async def _reach(config: WorkerConfig, roster: Roster, start: StartAt) -> None:
    wanted = roster.needs(config.frames, config.group)
    begin = partial(begin_at_the_ends, config.broker, config.group, config.frames) if start == "latest" else None
    await wait_for_broker(config.broker, wanted, config.give_up_s, begin)


async def _live(
    agent: FrameAgent,
    config: WorkerConfig,
    attending: AbstractAsyncContextManager[None],
    stop: asyncio.Event,
    health: WorkerHealth,
) -> str | None:
    """The life of a Faust app: until ``stop``, or until it gives up, which a new one makes good; why it gave up."""
    starting = asyncio.create_task(agent.app.start())
    cause = None
    try:
        async with health.watching(agent):
            await unless(stop, starting)
            if not stop.is_set():
                log.info("analysing %s at %s", config.frames, config.broker.url)
                async with attending:
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
