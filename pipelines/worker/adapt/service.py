"""The adaptation worker: reads what workers send, has it trained on, and publishes what is better."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.target_state import Artefact
from cache_adapt.adaptation.window import SPAN_S
from operators.observer import UNOBSERVED, Observers
from pipelines.health.heartbeat import INTERVAL_S, Heartbeat
from pipelines.kafka.async_clients import quiet, started, wait_for_broker
from pipelines.kafka.follow import Follower
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.partition.publisher import HOPELESS, TOO_LARGE
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings
from pipelines.worker.adapt.inbox import Inbox
from pipelines.worker.adapt.messages import update_letter
from serving.common.clock import SYSTEM, Clock
from serving.common.retrying import BROKER_BACKOFF, Persistence, retrying
from serving.errors import Unavailable

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Time between two looks at what is due."""
TIDY_S = 60.0
WAITED_S = 5.0
"""After so long without an answer of the broker it is logged."""
SILENT_S = 60.0
"""After so long without an answer of the broker the worker is not well."""


@dataclass(frozen=True)
class ServiceConfig:
    """The configuration of an adaptation worker."""

    settings: BrokerSettings
    query: str
    topics: TopicsConfig
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
    alive: Path | None = None
    """Says whether all is well: see ``pipelines.health.heartbeat``."""
    observers: Observers = UNOBSERVED


class Service:
    """One adaptation worker."""

    def __init__(self, config: ServiceConfig, adaptation: Adaptation, clock: Clock = SYSTEM) -> None:
        self._config, self._adaptation, self._clock = config, adaptation, clock
        self._heart = Heartbeat(config.alive)
        inbox = Inbox(config.query, adaptation, clock)
        since_s = clock.now().timestamp() - SPAN_S
        settings, topics = config.settings, config.topics
        self._samples = Follower(settings, topics.name("samples"), inbox.take_sample, since_s)
        self._updates = Follower(settings, topics.name("updates"), inbox.take_update)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop``; raises Unavailable or BadInput where the broker or a topic is not there at first."""
        config = self._config
        quiet()
        self._heart.ail(waits := f"waiting for {config.settings.url} and its topics")
        config.observers.worker_waits(waits)
        wanted = needs(read=[self._samples.topic, self._updates.topic], write=[self._updates.topic])
        waiting = asyncio.create_task(wait_for_broker(config.settings, wanted, config.give_up_s))
        async with _unless(stop, waiting):
            if stop.is_set():
                return
        async with AsyncExitStack() as stack:
            for follower in (self._samples, self._updates):
                await stack.enter_async_context(meanwhile(follower.run()))
            await stack.enter_async_context(meanwhile(self._beat()))
            working = asyncio.create_task(self._work())
            async with _unless(stop, working):
                pass

    async def _work(self) -> None:
        await self._updates.caught_up.wait()
        await self._samples.caught_up.wait()
        log.info(
            "adapting %s at %s: %d samples of the last hour are there",
            *(self._config.query, self._config.settings.url, self._adaptation.samples),
        )
        tidied_s = self._clock.monotonic_s()
        while True:
            if self._clock.monotonic_s() - tidied_s >= TIDY_S:
                self._adaptation.tidy(self._now_s())
                tidied_s = self._clock.monotonic_s()
            due = self._adaptation.next(self._now_s())
            made = await self._adaptation.train(due, self._now_s) if due else None
            if made is not None:
                await self._publish(made)
            if due is None:
                await asyncio.sleep(LOOK_S)

    async def _publish(self, made: Artefact) -> None:
        """Store what was made, however long that takes; what no broker takes is logged and left out."""
        logged = False

        def log_retry(error: Exception, remaining_s: float) -> None:
            nonlocal logged
            if not logged:
                log.warning("cannot publish to %s (%s): trying again", self._updates.topic, error)
            logged = True

        try:
            await retrying(lambda: self._store(made), (KafkaError, OSError), Persistence(BROKER_BACKOFF), log_retry)
        except _Refused as error:
            log.warning("version %d of %s is not published: %s", made.version, made.target.key, error)
        else:
            self._adaptation.published(made.target.key, made.version, made.data, self._now_s())

    async def _store(self, made: Artefact) -> None:
        letter = update_letter(self._config.query, made, self._now_s())
        producer: AIOKafkaProducer = await started(self._config.settings)
        try:
            await producer.send_and_wait(self._updates.topic, letter.value, letter.key, headers=list(letter.headers))
        except HOPELESS as error:
            raise Unavailable(f"cannot publish to {self._updates.topic}: {error}") from None
        except TOO_LARGE as error:
            raise _Refused(f"topic {self._updates.topic} refuses {len(letter.value)} bytes ({error})") from None
        finally:
            await producer.stop()

    async def _beat(self) -> None:
        waited = False
        while True:
            silent_s = time.monotonic() - min(self._samples.answered_s, self._updates.answered_s)
            if silent_s >= WAITED_S and not waited:
                log.warning("the broker at %s does not answer: waiting for it", self._config.settings.url)
            elif silent_s < WAITED_S and waited:
                log.info("the broker answers again")
            waited = silent_s >= WAITED_S
            problem = None if silent_s < SILENT_S else f"the broker has not answered for {silent_s:.0f} s"
            if problem is None:
                self._heart.beat()
            else:
                self._heart.ail(problem)
            self._config.observers.worker_checked({}, 0.0, problem)
            await asyncio.sleep(INTERVAL_S)

    def _now_s(self) -> float:
        return self._clock.now().timestamp()


class _Refused(Exception):
    """The broker does not take a message, however often it is sent."""


@asynccontextmanager
async def _unless(stop: asyncio.Event, work: asyncio.Task[None]) -> AsyncIterator[None]:
    """Wait for the work or for ``stop``; what the work raised is raised."""
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([work, stopping], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
        yield
    finally:
        for task in (work, stopping):
            task.cancel()
        await asyncio.wait([work, stopping])
