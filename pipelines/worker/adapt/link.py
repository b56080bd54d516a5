"""A worker's messages to the adaptation worker, and from it: an ``Elsewhere``, and what connects it to the broker."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from aiokafka import AIOKafkaProducer, ConsumerRecord
from numpy.typing import NDArray

from cache_adapt.adaptation.send_rate import SendRate
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.updates import Update, Updates
from cache_adapt.adaptation.window import Sample
from learning.features import numbers
from operators.wire.adaptation import MOST_DIMS, MOST_SAMPLES
from operators.wire.mishaps import Mishaps
from pipelines.kafka.async_clients import place_of, started, wait_for_broker
from pipelines.kafka.follow import Follower
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.tasks import meanwhile
from pipelines.settings import BrokerSettings
from pipelines.worker.adapt.messages import (
    Headers,
    Letter,
    SampleBatch,
    read_update,
    samples_letter,
    update_key,
    wish_letter,
)
from serving.common.clock import SYSTEM, Clock
from serving.errors import Malformed

log = logging.getLogger(__name__)

MOST_WAITING = 512
"""Samples that wait to be sent; the oldest give way."""
MOST_RATES = 1000
"""Networks, and streams that learn alone, of which it is known how many samples were sent."""
MOST_WISHES = 1000
REPEATED_S = 20.0
"""Time between two messages of one wish."""
FORGOTTEN_S = 300.0
"""A wish that was not uttered again for so long is sent no more."""
MOST_UPDATES = 1000
UPDATE_BYTES = 32 << 20
"""For all updates that are kept; the oldest give way."""


class Link:
    def __init__(self, query: str, clock: Clock = SYSTEM) -> None:
        self._query, self._clock = query, clock
        self._samples: deque[tuple[Subject, str, Sample]] = deque(maxlen=MOST_WAITING)
        self._wishes: OrderedDict[tuple[Target, str], _Wish] = OrderedDict()
        self._rates: OrderedDict[Subject, SendRate] = OrderedDict()
        self._updates = Updates[bytes](MOST_UPDATES, UPDATE_BYTES)
        self._mishaps = Mishaps(log)
        self.news = asyncio.Event()
        """Is set when a wish should be sent at once."""

    def offer(self, subject: Subject, stream: str, labels: Sequence[int], features: NDArray[np.floating[Any]]) -> None:
        subject.check(stream)
        if features.shape[1] > MOST_DIMS:
            return
        for label, row in numbers(labels, features):
            if self._may_send(subject):
                self._samples.append((subject, stream, Sample(self._now_s(), label, row)))

    def want(self, target: Target, stream: str) -> None:
        target.subject.check(stream)
        key = target, stream
        if key not in self._wishes:
            self._wishes[key] = _Wish()
            self.news.set()
        self._wishes[key].uttered_s = self._clock.monotonic_s()
        self._wishes.move_to_end(key)
        if len(self._wishes) > MOST_WISHES:
            self._wishes.popitem(last=False)

    def newest(self, target: Target) -> Update | None:
        return self._updates.get(update_key(self._query, target.key))

    def letters(self) -> Iterator[Letter]:
        """Messages to send now, taken out of those that wait."""
        now_s = self._now_s()
        for batch in self._batches():
            yield samples_letter(batch, now_s)
        self.news.clear()
        passed_s = self._clock.monotonic_s()
        for (target, stream), wish in list(self._wishes.items()):
            if passed_s - wish.uttered_s > FORGOTTEN_S:
                del self._wishes[target, stream]
            elif wish.sent_s is None or passed_s - wish.sent_s >= REPEATED_S:
                wish.sent_s = passed_s
                yield wish_letter(self._query, target, stream, now_s)

    def take(self, place: str, key: bytes | None, headers: Headers, value: bytes | None) -> None:
        """Take a message of the topic of updates; others than those of this query are no concern of this worker."""
        if key is None or not key.startswith(update_key(self._query, "")) or value is None:
            return
        known = self._updates.get(key)
        try:
            update = read_update(key, headers, value, known.version if known else 0, self._now_s())
        except Malformed as error:
            self._mishaps.note("an update is refused, what is in use stays", f"{place}: {error}")
            return
        self._updates.put(key, update)

    def _may_send(self, subject: Subject) -> bool:
        """Whether one more sample goes on its way, which then counts."""
        now_s = self._clock.monotonic_s()
        rate = self._rates.setdefault(subject, SendRate(now_s))
        self._rates.move_to_end(subject)
        if len(self._rates) > MOST_RATES:
            self._rates.popitem(last=False)
        if not rate.allows(1, now_s):
            return False
        rate.sent(1)
        return True

    def _batches(self) -> Iterator[SampleBatch]:
        groups: dict[tuple[Subject, str, int], deque[Sample]] = {}
        while self._samples:
            subject, stream, sample = self._samples.popleft()
            groups.setdefault((subject, stream, len(sample.features)), deque()).append(sample)
        for (subject, stream, _), samples in groups.items():
            rest = iter(samples)
            while some := list(islice(rest, MOST_SAMPLES)):
                yield SampleBatch(self._query, subject, stream, some)

    def _now_s(self) -> float:
        return self._clock.now().timestamp()


@dataclass
class _Wish:
    """When a wish of one stream was uttered last, and sent."""

    uttered_s: float = 0.0
    sent_s: float | None = None


EVERY_S = 1.0
"""Time between two rounds of messages."""
SEND_S = 30.0
"""After so long without an answer of the broker a round is lost."""


@asynccontextmanager
async def linked(query: str, settings: BrokerSettings, topics: TopicsConfig, give_up_s: float) -> AsyncIterator[Link]:
    """Send and receive while the block runs; BadInput or Unavailable where the broker or a topic is not there."""
    link = Link(query)
    samples, updates = topics.name("samples"), topics.name("updates")
    await wait_for_broker(settings, needs(read=[updates], write=[samples]), give_up_s)
    follower = Follower(settings, updates, lambda record: _take(link, record))
    async with meanwhile(follower.run()), meanwhile(_sending(link, settings, samples)):
        yield link


def _take(link: Link, record: ConsumerRecord) -> None:
    link.take(place_of(record), record.key, record.headers, record.value)


async def _sending(link: Link, settings: BrokerSettings, topic: str) -> None:
    producer: AIOKafkaProducer | None = None
    troubled = False
    try:
        while True:
            try:
                producer = producer or await started(settings)
                async with asyncio.timeout(SEND_S):
                    await _send(producer, topic, link)
                troubled = False
            except Exception as error:  # whatever the library raises, frames must not wait for it
                if not troubled:
                    log.warning("samples do not reach topic %s (%s): some are lost, trying again", topic, error)
                troubled = True
            if troubled:
                await asyncio.sleep(EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await link.news.wait()
    finally:
        if producer is not None:
            await producer.stop()


async def _send(producer: AIOKafkaProducer, topic: str, link: Link) -> None:
    stored = [
        await producer.send(topic, letter.value, letter.key, headers=list(letter.headers)) for letter in link.letters()
    ]
    await asyncio.gather(*stored)
