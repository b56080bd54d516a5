"""Which of several schedulers leads: the one that the broker's group has given the placements' first partition."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from pipelines.kafka.async_clients import for_ever
from pipelines.kafka.options import METADATA_AGE_MS, client_options
from pipelines.settings import BrokerSettings

log = logging.getLogger(__name__)

SESSION_S = 6.0
"""A leader that the broker has not heard of for so long is followed by another."""
HEARTBEAT_S = 1.5
POLL_MS = 500
STOP_S = 3.0
FIRST = 0
"""The partition whose holder leads: a topic that others have made may have more."""


class Election(ConsumerRebalanceListener):  # type: ignore[misc]
    """Used from one event loop."""

    def __init__(self, settings: BrokerSettings, topic: str, group: str) -> None:
        self._settings, self._topic, self._group = settings, topic, group
        self.leads = False
        self.terms = 0
        """How often it has come to lead."""

    async def run(self) -> None:
        """Stand for election until this is cancelled."""
        await for_ever(self._stand, f"the election in group {self._group}")

    async def _stand(self) -> None:
        consumer = AIOKafkaConsumer(
            **client_options(self._settings),
            group_id=self._group,
            partition_assignment_strategy=[StickyPartitionAssignor],  # who leads goes on to
            enable_auto_commit=False,
            auto_offset_reset="latest",
            session_timeout_ms=round(SESSION_S * 1000),
            heartbeat_interval_ms=round(HEARTBEAT_S * 1000),
            metadata_max_age_ms=METADATA_AGE_MS,
        )
        consumer.subscribe([self._topic], listener=self)
        try:
            await consumer.start()
            while True:
                began_s = time.monotonic()
                await consumer.getmany(timeout_ms=POLL_MS)
                if time.monotonic() - began_s > SESSION_S:
                    # It stood still: another one may lead by now, which the library is about to find out.
                    log.warning("this scheduler stood still for more than %g s: it stands for election anew", SESSION_S)
                    return
        finally:
            self._ends("its place in the group is given up")
            with suppress(Exception):
                async with asyncio.timeout(STOP_S):
                    await consumer.stop()

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        if FIRST in {each.partition for each in assigned} and not self.leads:
            self.leads, self.terms = True, self.terms + 1
            log.info("this scheduler leads")

    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        if revoked:
            self._ends("the group is shared out anew")

    def _ends(self, why: str) -> None:
        if self.leads:
            log.info("this scheduler does not lead any more: %s", why)
        self.leads = False
