"""A process's link to the scheduler: it says how busy it is, and hears of placements.

Nothing waits for it: without a broker, a topic or a scheduler all goes on as it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from math import inf

from aiokafka import AIOKafkaProducer, ConsumerRecord

from operators.wire.schema import FleetPlacement, ProcessLoad, from_json, to_json
from pipelines.kafka.async_clients import quiet, started, wait_for_broker
from pipelines.kafka.follow import Follower
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.tasks import meanwhile
from pipelines.schedule.load_report import LoadReport
from pipelines.settings import BrokerSettings
from serving.common.clock import SYSTEM, Clock
from serving.errors import Malformed, SluiceError

log = logging.getLogger(__name__)

LOOK_S, EVERY_S = 1.0, 5.0
"""Time between two looks at what has changed, and between two messages where nothing has."""
SEND_S = 10.0
"""After so long without an answer of the broker a message is lost."""
LEAVING_S = 2.0
"""The last message is given so long."""
REST_S = 20.0
"""After a message that was lost, and between two looks for what is missing."""
SAID_AT = 2
"""So many looks must find it missing before that is said."""
AHEAD_S = 3600.0
"""Clocks of machines differ by less."""
Heed = Callable[[FleetPlacement], None]


def next_epoch(heard: Iterable[int], now_s: float) -> int:
    """The number of an epoch that begins now: the time, so that no number can be taken from all that come later.

    Later than the numbers that were ``heard``, but for those of a clock that was wrong.

    >>> next_epoch([41], 1_790_000_000.5), next_epoch([1_790_000_007, 1_800_000_000], 1_790_000_000.5)
    (1790000000, 1790000008)
    """
    return max(1, int(now_s), *(each + 1 for each in heard if is_possible(each, now_s)))


def is_possible(epoch: int, now_s: float) -> bool:
    """Whether a scheduler can have made an epoch of such a number by now: it begins fewer than one each second."""
    return epoch <= now_s + AHEAD_S


class Placements:
    """The latest placement by its epoch: what comes later with a lower one is of a scheduler that leads no more."""

    def __init__(self, heed: Heed, clock: Clock = SYSTEM) -> None:
        self._heed, self._clock = heed, clock
        self.epoch = 0

    def take(self, record: ConsumerRecord) -> None:
        """Read a message; raises Malformed for one that is none."""
        found, now_s = from_json(record.value or b"", FleetPlacement), self._clock.now().timestamp()
        if not is_possible(found.epoch, now_s):
            raise Malformed(f"epoch {found.epoch} is more than {AHEAD_S:g} s ahead of this machine's clock")
        if found.epoch > self.epoch or not is_possible(self.epoch, now_s):  # of a clock that was set back since
            self.epoch = found.epoch
            self._heed(found)


class FleetLink:
    """Used from one event loop."""

    def __init__(
        self, settings: BrokerSettings, topics: TopicsConfig, report: LoadReport, heed: Heed, clock: Clock = SYSTEM
    ) -> None:
        self._settings, self._topic, self._report, self._clock = settings, topics.name("load"), report, clock
        self._needs = needs(read=[topics.name("placement")], write=[self._topic])
        self._placements = Placements(heed, clock)
        self._follower = Follower(settings, topics.name("placement"), self._placements.take)
        self._producer: AIOKafkaProducer | None = None
        self._told_s = -inf
        self._troubled = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Tell and listen while the block runs; then say that the process leaves."""
        quiet()
        try:
            async with meanwhile(self._work()):
                yield
        finally:
            await self._leave()

    async def _work(self) -> None:
        failures = 0
        while (why := await self._why_not()) is not None:
            failures += 1
            if failures == SAID_AT:  # the process itself says why it cannot begin
                log.info("no scheduler hears how busy this process is, and all goes on without: %s", why)
            await asyncio.sleep(REST_S)
        async with meanwhile(self._follower.run()):
            await self._telling()

    async def _why_not(self) -> str | None:
        """Why the broker, a topic or a right is missing; None where all are there."""
        try:
            await wait_for_broker(self._settings, self._needs, 0.0)
        except SluiceError as error:
            return str(error).removesuffix(": gave up after 0 s")
        return None

    async def _telling(self) -> None:
        while True:
            now_s = self._clock.monotonic_s()
            if now_s - self._told_s >= EVERY_S or self._report.changed(now_s):
                self._told_s = now_s
                if not await self._tell(self._report.next(self._clock.now(), now_s)):
                    await asyncio.sleep(REST_S)
            await asyncio.sleep(LOOK_S)

    async def _tell(self, load: ProcessLoad, within_s: float = SEND_S) -> bool:
        """Whether the broker has it."""
        try:
            async with asyncio.timeout(within_s):
                if self._producer is None:
                    self._producer = await started(self._settings)
                await self._producer.send_and_wait(self._topic, to_json(load), load.id.encode())
        except Exception as error:  # whatever the library raises, frames must not wait for it
            if not self._troubled:
                why = str(error) or f"no answer within {within_s:g} s"
                log.warning("no scheduler hears how busy this process is: topic %s: %s", self._topic, why)
            self._troubled = True
            return False
        if self._troubled:
            log.info("topic %s takes messages again", self._topic)
        self._troubled = False
        return True

    async def _leave(self) -> None:
        if self._producer is None:
            return
        if not self._troubled:
            self._report.leaving = True
            await self._tell(self._report.next(self._clock.now(), self._clock.monotonic_s()), LEAVING_S)
        with suppress(Exception):
            async with asyncio.timeout(LEAVING_S):
                await self._producer.stop()
