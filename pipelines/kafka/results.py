"""Reads the topics of results and events by kafka-python, as ``sluice watch`` and consumers in Python do."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Generic, Literal, TypeVar

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import CommitFailedError, KafkaError
from kafka.structs import OffsetAndMetadata

from operators.transports.polls import mend_polls
from operators.transports.record_sets import unreadable
from operators.wire.mishaps import Mishaps
from operators.wire.schema import Result
from pipelines.kafka.options import METADATA_AGE_MS
from pipelines.kafka.rights import needs
from pipelines.kafka.sync_clients import admin, consumer, demand
from pipelines.kafka.topics import TopicsConfig
from pipelines.settings import BrokerSettings
from serving.errors import Malformed, Unavailable

log = logging.getLogger(__name__)

M = TypeVar("M")

POLL_S = 0.2
AT_ONCE, MOST_AT_ONCE = 16, 128
"""Messages that are handed on before those that are done are remembered, and a group may change: a few, and more as
long as they take no more than ``SOON_S``."""
SOON_S = 0.5
MOST_BUSY_MS = 3_600_000
"""A member that is busy with them for longer is taken for hung: others get its partitions."""
MOST_RUNS = 10_000
"""Runs whose latest result is remembered, those of each query by themselves."""


class LatestResults:
    """Tells results that come again, as after a worker was killed, from new ones. Pure."""

    def __init__(self, most: int = MOST_RUNS) -> None:
        """``most``: of more runs the one that was heard of longest ago is forgotten."""
        self._most = most
        self._latest: OrderedDict[tuple[str, str, str], int] = OrderedDict()

    def is_new(self, result: Result) -> bool:
        """Whether the frame is behind the latest of its run that the query has answered; note it."""
        run = result.query, result.stream, result.run
        before = self._latest.pop(run, -1)
        self._latest[run] = max(before, result.seq)
        if len(self._latest) > self._most:
            self._latest.popitem(last=False)
        return result.seq > before


class MessageReader(Generic[M]):
    """Iterates over messages until the time is over or ``stop`` is set; close it. Raises BadInput and Unavailable."""

    def __init__(
        self,
        settings: BrokerSettings,
        topic: Literal["results", "events"],
        decode: Callable[[bytes], M],
        *,
        prefix: str | None = None,
        from_beginning: bool = False,
        group: str | None = None,
        within_s: float = math.inf,
        stop: threading.Event | None = None,
    ) -> None:
        """``decode`` raises ``Malformed``; ``group``: shares the partitions, and goes on behind what was done."""
        self._decode, self._group, self._stop = decode, group, stop or threading.Event()
        self._deadline = time.monotonic() + within_s
        self._topic = TopicsConfig().with_prefix(prefix).name(topic)
        self._mishaps = Mishaps(log)
        self._done: dict[TopicPartition, OffsetAndMetadata] = {}
        self.after_poll: Callable[[], None] = lambda: None
        with closing(admin(settings, within_s, self._stop)) as client:
            absent = demand(client, settings, needs(read=[self._topic], group=group))
        self._client: KafkaConsumer = consumer(
            settings,
            within_s,
            self._stop,
            group,
            # Partitions that come later, and those whose next message is gone, begin with the first that is there.
            auto_offset_reset="earliest",
            metadata_max_age_ms=METADATA_AGE_MS,
            max_partition_fetch_bytes=8 << 20,
            max_poll_interval_ms=MOST_BUSY_MS,
        )
        mend_polls(self._client)
        self._at_ends = not absent and not from_beginning
        if self._at_ends and group is not None:
            self._begin_at_the_ends(group)
        self._client.subscribe([self._topic])

    def __iter__(self) -> Iterator[tuple[M, bytes]]:
        """Yield each message, and as it came; one whose successor was asked for counts as done."""
        at_once = AT_ONCE
        self._wait_for_topic()
        self._seek_to_the_ends()
        while not self._stop.is_set() and (remaining_s := self._deadline - time.monotonic()) > 0:
            batches = self._client.poll(int(min(remaining_s, POLL_S) * 1000) + 1, at_once)
            began_s = time.monotonic()
            for place, records in batches.items():
                for record in records:
                    if (found := self._read(record)) is not None:
                        yield found, record.value
                    self._done[place] = OffsetAndMetadata(record.offset + 1, "", -1)
            at_once = AT_ONCE if time.monotonic() - began_s > SOON_S else min(2 * at_once, MOST_AT_ONCE)
            self._commit()
            self.after_poll()

    def _commit(self) -> None:
        if self._group is not None and self._done:
            try:
                self._client.commit(self._done)
            except KafkaError as error:  # the results come again
                log.warning("the broker does not remember what group %s has done: %s", self._group, error)
            self._done = {}

    def waiting(self) -> int:
        """Messages that the topic has and that were not read yet, as far as is known."""
        ends = {place: self._client.highwater(place) for place in self._client.assignment()}
        return sum(max(0, end - self._client.position(place)) for place, end in ends.items() if end is not None)

    def close(self) -> None:
        """Let go of the broker; logs how many messages were skipped, if more than the one that was logged."""
        self._commit()
        self._client.close(timeout_ms=1000)
        if (skipped := self._mishaps.counts.total()) > 1:
            log.warning("%d messages of topic %s were of another kind", skipped, self._topic)

    def _read(self, record: Any) -> M | None:
        if unreadable(record.headers) is not None:
            return None  # it was logged
        try:
            return self._decode(record.value or b"")
        except Malformed as error:
            self._mishaps.note(
                f"topic {self._topic} has a message of another kind, skipped",
                f"partition {record.partition} offset {record.offset}: {error}",
            )
            return None

    def _begin_at_the_ends(self, group: str) -> None:
        """Commit them, unless the group has committed anything: it has a place in partitions that are silent, too."""
        places = [TopicPartition(self._topic, each) for each in self._client.partitions_for_topic(self._topic) or ()]
        self._client.assign(places)
        try:
            if all(self._client.committed(place) is None for place in places):
                ends = self._client.end_offsets(places)
                self._client.commit({place: OffsetAndMetadata(end, "", -1) for place, end in ends.items()})
        except CommitFailedError:
            pass  # it has members, which have begun
        except KafkaError as error:
            raise Unavailable(f"the broker does not say where group {group} has been: {error}") from None
        self._client.unsubscribe()

    def _seek_to_the_ends(self) -> None:
        """Without a group nobody remembers them."""
        while self._at_ends and self._group is None and not self._stop.is_set():
            self._client.poll(timeout_ms=1)
            if self._client.assignment():
                self._client.seek_to_end()
                self._at_ends = False

    def _wait_for_topic(self) -> None:
        logged = False
        while not self._client.partitions_for_topic(self._topic):
            if time.monotonic() > self._deadline:
                raise Unavailable(f"there is no topic {self._topic}: `sluice topics create` makes it")
            if not logged:
                log.warning("there is no topic %s yet: waiting for it", self._topic)
                logged = True
            if self._stop.wait(0.5):
                return
