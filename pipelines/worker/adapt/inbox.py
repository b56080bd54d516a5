"""The adaptation worker's input from the topics: the samples and wishes of its query, and updates that are there."""

from __future__ import annotations

import logging

from aiokafka import ConsumerRecord

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.window import SPAN_S
from operators.wire.adaptation import SAMPLES_HEADER_KEY
from operators.wire.mishaps import Mishaps
from pipelines.worker.adapt.messages import read_samples, read_update, read_wish, update_key
from serving.common.clock import SYSTEM, Clock
from serving.errors import Malformed

log = logging.getLogger(__name__)

MOST_VERSIONS = 1000
"""Targets whose newest version is known."""


class Inbox:
    """Decodes messages; a bad one is logged, and costs itself alone."""

    def __init__(self, query: str, adaptation: Adaptation, clock: Clock = SYSTEM) -> None:
        self._query, self._adaptation, self._clock = query, adaptation, clock
        self._versions: dict[bytes, int] = {}
        self._mishaps = Mishaps(log)

    def take_sample(self, record: ConsumerRecord) -> None:
        """Take a message of the topic of samples, which has the samples and wishes of all queries."""
        try:
            if any(name == SAMPLES_HEADER_KEY for name, _ in record.headers):
                self._samples(record)
            else:
                self._wish(record)
        except Malformed as error:
            self._mishaps.note("a message is passed over", f"{_place(record)}: {error}")

    def take_update(self, record: ConsumerRecord) -> None:
        """Take a message of the topic of updates: whatever is there, the next version must be greater."""
        key = record.key or b""
        if not key.startswith(update_key(self._query, "")) or record.value is None:
            return
        now_s = self._clock.now().timestamp()
        try:
            update = read_update(key, record.headers, record.value, self._versions.get(key, 0), now_s)
        except Malformed as error:
            self._mishaps.note("an update is passed over", f"{_place(record)}: {error}")
            return
        self._versions.pop(key, None)
        self._versions[key] = update.version
        if len(self._versions) > MOST_VERSIONS:
            del self._versions[next(iter(self._versions))]
        target = key[len(update_key(self._query, "")) :].decode(errors="replace")
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
            self._mishaps.note("a message is passed over", f"{_place(record)}: {why}")
        return why is not None


def _place(record: ConsumerRecord) -> str:
    return f"topic {record.topic} partition {record.partition} offset {record.offset}"
