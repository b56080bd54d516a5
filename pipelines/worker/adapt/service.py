"""The adaptation worker: reads what workers send, has it trained on, and publishes what is better."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer, ConsumerRecord
from aiokafka.errors import KafkaError

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.target_state import Artefact
from cache_adapt.adaptation.window import SPAN_S
from operators.observer import UNOBSERVED, Observers
from operators.wire.adaptation import SAMPLES_HEADER_KEY
from operators.wire.mishaps import Mishaps
from pipelines.health.heartbeat import INTERVAL_S
from pipelines.kafka.async_clients import place_of, quiet, started, wait_for_broker
from pipelines.kafka.follow import Follower
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.partition.publisher import HOPELESS, TOO_LARGE
from pipelines.process.tasks import meanwhile, unless
from pipelines.settings import BrokerSettings
from pipelines.worker.adapt.messages import read_samples, read_update, read_wish, update_key, update_letter
from serving.common.clock import SYSTEM, Clock
from serving.common.retrying import BROKER_BACKOFF, Persistence, retrying
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)


class Inbox:
    """Decodes messages; a bad one is logged, and costs itself alone."""

    def __init__(self, query: str, adaptation: Adaptation, clock: Clock = SYSTEM) -> None:
        self._query, self._adaptation, self._clock = query, adaptation, clock
        self._mishaps = Mishaps(log)

    def take_sample(self, record: ConsumerRecord) -> None:
        """Take a message of the topic of samples, which has the samples and wishes of all queries."""
        try:
            if any(name == SAMPLES_HEADER_KEY for name, _ in record.headers):
                self._samples(record)
            else:
                self._wish(record)
        except Malformed as error:
            self._mishaps.note("a message is passed over", f"{place_of(record)}: {error}")

    def take_update(self, record: ConsumerRecord) -> None:
        """Take a message of the topic of updates: whatever is there, the next version must be greater."""
        key = record.key or b""
        if not key.startswith(update_key(self._query, "")) or record.value is None:
            return
        target, now_s = key[len(update_key(self._query, "")) :].decode(errors="replace"), self._clock.now().timestamp()
        known = self._adaptation.newest(target)
        older = known.version - 1 if known else 0  # what was published here comes back
        try:
            update = read_update(key, record.headers, record.value, older, now_s)
        except Malformed as error:
            self._mishaps.note("an update is passed over", f"{place_of(record)}: {error}")
            return
        self._adaptation.published(target, update.version, update.data, now_s)

    def _samples(self, record: ConsumerRecord) -> None:
        batch, now_s = read_samples(record.headers, record.value), self._clock.now().timestamp()
        if batch.query != self._query or self._is_foreign(record, self._adaptation.why_foreign(batch.subject)):
            return
        if max(each.at_s for each in batch.samples) < now_s - SPAN_S:
            self._is_foreign(record, f"samples of stream {batch.stream} are older than an hour: set the clocks alike")
        self._adaptation.add(batch.subject, batch.stream, batch.samples, now_s)

    def _wish(self, record: ConsumerRecord) -> None:
        wanted = read_wish(record.value)
        if wanted.query == self._query:
            why_not = self._adaptation.wanted(wanted.target, self._clock.now().timestamp())
            self._is_foreign(record, why_not)

    def _is_foreign(self, record: ConsumerRecord, why: str | None) -> bool:
        if why is not None:
            self._mishaps.note("a message is passed over", f"{place_of(record)}: {why}")
        return why is not None


WAITED_S = 5.0
"""After so long without an answer of the broker it is logged."""
SILENT_S = 60.0
"""After so long without an answer of the broker the worker is not well."""


@dataclass(frozen=True)
class ServiceConfig:
    settings: BrokerSettings
    query: str
    topics: TopicsConfig
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
    observers: Observers = UNOBSERVED


class Service:
    def __init__(self, config: ServiceConfig, adaptation: Adaptation, clock: Clock = SYSTEM) -> None:
        self._config, self._adaptation, self._clock = config, adaptation, clock
        inbox = Inbox(config.query, adaptation, clock)
        since_s = clock.now().timestamp() - SPAN_S
        settings, topics = config.settings, config.topics
        self._samples = Follower(settings, topics.name("samples"), inbox.take_sample, since_s)
        self._updates = Follower(settings, topics.name("updates"), inbox.take_update)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop``; raises Unavailable or BadInput where the broker or a topic is not there at first."""
        config = self._config
        quiet()
        config.observers.worker_waits(f"waiting for {config.settings.url} and its topics")
        wanted = needs(read=[self._samples.topic, self._updates.topic], write=[self._updates.topic])
        if not await unless(stop, wait_for_broker(config.settings, wanted, config.give_up_s)):
            return
        async with AsyncExitStack() as stack:
            for follower in (self._samples, self._updates):
                await stack.enter_async_context(meanwhile(follower.run()))
            await stack.enter_async_context(meanwhile(self._beat()))
            await unless(stop, self._work())

    async def _work(self) -> None:
        await self._updates.caught_up.wait()
        await self._samples.caught_up.wait()
        log.info(
            "adapting %s at %s: %d samples of the last hour are there",
            *(self._config.query, self._config.settings.url, self._adaptation.samples),
        )
        await self._adaptation.run(self._publish, self._clock)

    async def _publish(self, made: Artefact) -> bool:
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
            return False
        return True

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
            self._config.observers.worker_checked({}, 0.0, problem)
            await asyncio.sleep(INTERVAL_S)

    def _now_s(self) -> float:
        return self._clock.now().timestamp()


class _Refused(Exception):
    """The broker does not take a message, however often it is sent."""
