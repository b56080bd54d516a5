"""A scheduler: hears what processes tell, and publishes who serves what while it leads."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from math import inf

from aiokafka import AIOKafkaProducer, ConsumerRecord

from operators.observer import Observer
from operators.wire.schema import FleetPlacement, ProcessLoad, from_json, to_json
from pipelines.health.heartbeat import INTERVAL_S
from pipelines.kafka.async_clients import for_ever, quiet, started, topics_at, wait_for_broker
from pipelines.kafka.follow import Follower
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.tasks import meanwhile
from pipelines.schedule.election import Election
from pipelines.schedule.epochs import MOST_WORKERS, Epochs, EpochStart, EpochTerms
from pipelines.schedule.fleet_link import Placements, is_possible, next_epoch
from pipelines.schedule.fleet_view import FleetView, ViewBounds
from pipelines.schedule.load_report import process_name
from pipelines.settings import BrokerSettings
from serving.common.clock import SYSTEM, Clock
from serving.common.threads import in_own_thread
from serving.common.untrusted import LONGEST_REASON, printable
from serving.errors import Malformed

log = logging.getLogger(__name__)

KEY = b"placement"
PAST_S = 600.0
"""A scheduler that starts reads what was told so long before."""
SETTLE_S = 6.0
"""A new leader first listens for so long, for processes tell every five seconds; so does one that was cut off."""
CUT_OFF_S = 5.0
"""A scheduler that has not heard of the broker for so long, or stood still, does not know who is there, or leads."""
COUNTED_S = 60.0
"""From one count of partitions to the next."""
LEAST_S = 3.0
"""Between two epochs, however much changes."""
SEND_S = 10.0
SILENT_S = 60.0
"""After so long without an answer of the broker the scheduler is not well."""


@dataclass(frozen=True)
class ScheduleConfig:
    settings: BrokerSettings
    topics: TopicsConfig
    terms: EpochTerms
    every_s: float = 30.0
    """Between two epochs, where little changes."""
    give_up_s: float = 60.0
    """How long to wait for a broker that is not there."""
    bounds: ViewBounds = field(default_factory=ViewBounds)


class SchedulerService:
    """Used from one event loop."""

    def __init__(self, config: ScheduleConfig, clock: Clock = SYSTEM) -> None:
        self._config, self._clock, self.name = config, clock, process_name()
        self._began_s = clock.now().timestamp() - clock.monotonic_s()
        self._view = FleetView(config.bounds)
        self._epochs = Epochs(self._view, config.terms, self.name)
        topics, settings = config.topics, config.settings
        self._topic, self._load = topics.name("placement"), topics.name("load")
        group = f"{topics.prefix}schedule"
        self._wanted = needs(read=[self._load, self._topic], write=[self._topic], group=group)
        self._election = Election(settings, self._topic, group)
        self._partitions = 0
        """Those of the frames; 0 as long as nobody knows."""
        self.placement: FleetPlacement | None = None
        """The one that holds, of this or another scheduler."""
        self._placements = Placements(self._heed, clock)
        self._follower = Follower(settings, self._topic, self._placements.take)
        self._loads = Follower(settings, self._load, self._hear, self._now_s() - PAST_S)
        self._highest = 0
        """The highest of the epochs that it has heard of."""
        self._said = ""
        self._known: FleetPlacement | None = None
        """The placement that it goes on from."""
        self.condition: Observer = Observer()
        """Hears how it is."""

    @property
    def leads(self) -> bool:
        return self._election.leads

    async def run(self) -> None:
        """Schedule until this is cancelled; raises Unavailable or BadInput where the broker or a topic is not there."""
        quiet()
        self.condition.worker_waits(f"waiting for {self._config.settings.url} and its topics")
        await wait_for_broker(self._config.settings, self._wanted, self._config.give_up_s)
        async with AsyncExitStack() as stack:
            for work in (self._follower.run(), self._loads.run(), self._election.run(), self._count(), self._beat()):
                await stack.enter_async_context(meanwhile(work))
            await self._work()

    async def _work(self) -> None:
        await self._follower.caught_up.wait()
        await self._loads.caught_up.wait()
        log.info("%s hears of %d processes", self.name, len(self._view.there(self._now_s())))
        term, made_s, listens_until_s, looked_s = 0, -inf, 0.0, self._clock.monotonic_s()
        while True:
            await asyncio.sleep(INTERVAL_S)
            now_s = self._clock.monotonic_s()
            stood_s, looked_s = now_s - looked_s, now_s
            cut_off_s = max(stood_s, now_s - self._loads.answered_s)
            if term != self._election.terms or cut_off_s > CUT_OFF_S:
                # Those that it has not heard of yet are not gone.
                term, listens_until_s = self._election.terms, now_s + SETTLE_S
            if not self.leads or now_s < listens_until_s:
                continue
            if self.placement is not self._known:
                self._go_on_from(self.placement)
            past_s = now_s - made_s
            if past_s >= self._config.every_s or (past_s >= LEAST_S and self._epochs.is_due(self._now_s())):
                made_s = now_s
                await self._epoch()
                looked_s = self._clock.monotonic_s()

    def _go_on_from(self, placement: FleetPlacement | None) -> None:
        self._known = placement
        if placement is None or placement.leader != self.name:
            self._epochs.follow(placement, self._now_s())

    async def _epoch(self) -> None:
        """Make the next placement and publish it, unless another scheduler has come to lead meanwhile."""
        moment = EpochStart(self._clock.now(), self._now_s(), self._partitions or MOST_WORKERS)
        term = self._election.terms
        self._highest = epoch = next_epoch((self._placements.epoch, self._highest), moment.at.timestamp())
        try:
            task = self._epochs.begin(moment.now_s)
            plan = await in_own_thread(task.plan)  # meanwhile the group must hear of this scheduler
            if not self.leads or term != self._election.terms:
                return
            made = self._epochs.end(epoch, moment, task, plan)
            async with asyncio.timeout(SEND_S):
                await self._publish(made)
        except Exception as error:  # whatever a message has led to, or the library raises: the last placement holds
            log.warning(
                "placement %d is not published (%s): the next one is tried", epoch, printable(error, LONGEST_REASON)
            )
        else:
            served = sum(bool(each.sessions) for each in made.backends)
            wanted = ", ".join(f"{each.wanted} {each.device}" for each in made.wanted) or "none"
            said = f"{served} of {len(made.backends)} backends serve, wanted: {wanted}"
            log.log(logging.DEBUG if said == self._said else logging.INFO, "placement %d: %s", epoch, said)
            self._said = said

    async def _publish(self, made: FleetPlacement) -> None:
        """Send it, unless it is one that nobody could read."""
        data = to_json(made)
        from_json(data, FleetPlacement)
        producer: AIOKafkaProducer = await started(self._config.settings, 8 << 20)
        try:
            await producer.send_and_wait(self._topic, data, KEY)
        finally:
            await producer.stop()

    def _heed(self, placement: FleetPlacement) -> None:
        self.placement = placement

    def _hear(self, record: ConsumerRecord) -> None:
        """Take a process's message in; raises Malformed for one that is none."""
        value, bounds = record.value or b"", self._config.bounds
        if len(value) > bounds.message_bytes:
            raise Malformed(f"{len(value)} bytes, where {bounds.message_bytes} are allowed")
        load = from_json(value, ProcessLoad)
        if record.key != load.id.encode():
            raise Malformed("its key is not the process that it speaks of")
        # Clocks of machines differ: what comes now was sent now.
        now_s = self._now_s()
        left_out = self._view.left_out
        self._view.hear(load, now_s if self._loads.caught_up.is_set() else min(record.timestamp / 1000, now_s))
        if self._view.left_out and not left_out:
            log.warning("more than %d processes: the load of further ones is left out: raise --most", bounds.processes)
        if is_possible(load.epoch, self._clock.now().timestamp()):
            self._highest = max(self._highest, load.epoch)

    async def _count(self) -> None:
        """Know how many workers have something to do."""
        settings, frames = self._config.settings, self._config.topics.name("frames")

        async def look() -> None:
            while True:
                self._partitions = (await topics_at(settings)).get(frames, 0)
                await asyncio.sleep(COUNTED_S)

        await for_ever(look, f"counting the partitions of {frames}")

    async def _beat(self) -> None:
        while True:
            silent_s = self._clock.monotonic_s() - self._loads.answered_s
            problem = None if silent_s < SILENT_S else f"the broker has not answered for {silent_s:.0f} s"
            self.condition.worker_checked({}, 0.0, problem)
            await asyncio.sleep(INTERVAL_S)

    def _now_s(self) -> float:
        """Since 1970, by the clock as it was at first: one that is set makes nobody gone, and no wish old."""
        return self._began_s + self._clock.monotonic_s()
