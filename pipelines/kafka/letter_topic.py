"""The dead-letter topic as it is at present, read without leaving a trace on the broker."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from operators.wire.schema import DeadLetter, from_json
from pipelines.kafka.letters import Place
from pipelines.kafka.sync_clients import consumer
from pipelines.kafka.topics import TopicsConfig
from pipelines.settings import BrokerSettings
from serving.errors import BadInput, Malformed, Unavailable

log = logging.getLogger(__name__)

SILENCE_S = 10.0
"""Seconds without a record after which the broker counts as one that does not answer."""
FETCH_BYTES = 8 << 20


@dataclass(frozen=True)
class Letters:
    """The dead-letter topic of one installation, read without leaving a trace on the broker."""

    settings: BrokerSettings
    timeout_s: float
    topic: str
    frames_topic: str
    client: KafkaConsumer

    def at(self, place: Place) -> DeadLetter:
        """The letter at a place; raises BadInput where there is none."""
        for found, letter in self._read({place.partition: place.offset}, {place.partition: place.offset + 1}):
            if found == place:
                return letter
        raise BadInput(f"{self.topic} has no letter at {place}: `sluice dlq list` shows what there is")

    def newest(self, count: int) -> list[tuple[Place, DeadLetter]]:
        """The newest letters, at most this many; the oldest of them comes first."""
        starts, ends = self._bounds()
        starts = {number: max(start, ends[number] - count) for number, start in starts.items()}
        found = sorted(self._read(starts, ends), key=lambda each: (each[1].at, each[0]))
        return found[-count:]

    def with_reason(self, reason: str) -> Iterator[tuple[Place, DeadLetter]]:
        """All that the topic has at present."""
        return (each for each in self._read(*self._bounds()) if each[1].reason == reason)

    def _partitions(self) -> list[TopicPartition]:
        numbers = self.client.partitions_for_topic(self.topic)
        if not numbers:
            raise Unavailable(f"there is no topic {self.topic}: `sluice topics create` makes it")
        return [TopicPartition(self.topic, number) for number in sorted(numbers)]

    def _bounds(self) -> tuple[dict[int, int], dict[int, int]]:
        partitions = self._partitions()
        first, last = self.client.beginning_offsets(partitions), self.client.end_offsets(partitions)
        return {each.partition: first[each] for each in partitions}, {each.partition: last[each] for each in partitions}

    def _read(self, starts: dict[int, int], ends: dict[int, int]) -> Iterator[tuple[Place, DeadLetter]]:
        """The letters between two offsets of each partition; a message that is no letter is logged and skipped."""
        first, last = self._bounds()
        begins = {number: max(start, first.get(number, 0)) for number, start in starts.items()}
        ends = {number: min(end, last.get(number, 0)) for number, end in ends.items()}
        unread = {number for number, start in begins.items() if start < ends[number]}
        self.client.assign([TopicPartition(self.topic, number) for number in unread])
        for number in unread:
            self.client.seek(TopicPartition(self.topic, number), begins[number])
        heard_s = time.monotonic()
        while unread:
            batches = self.client.poll(timeout_ms=500)
            for record in (record for records in batches.values() for record in records):
                place = Place(record.partition, record.offset)
                if record.offset < ends[record.partition] and (letter := _letter(place, record.value)) is not None:
                    yield place, letter
            unread = {number for number in unread if self._position(number) < ends[number]}
            heard_s = time.monotonic() if batches else heard_s
            if time.monotonic() - heard_s > SILENCE_S:
                raise Unavailable(f"topic {self.topic}: nothing came for {SILENCE_S:g} s")

    def _position(self, number: int) -> int:
        return int(self.client.position(TopicPartition(self.topic, number)))


def _letter(place: Place, value: bytes | None) -> DeadLetter | None:
    try:
        return from_json(value or b"", DeadLetter)
    except Malformed as error:
        log.warning("%s: this message is no dead letter: %s", place, error)
        return None


@contextmanager
def opened_letters(settings: BrokerSettings, topics: TopicsConfig, timeout_s: float) -> Iterator[Letters]:
    """The letters of an installation, for the time of the block; raises ``Unavailable`` or ``BadInput``."""
    client = consumer(settings, timeout_s, max_partition_fetch_bytes=FETCH_BYTES)
    try:
        yield Letters(settings, timeout_s, topics.name("dlq"), topics.name("frames"), client)
    finally:
        with suppress(KafkaError):
            client.close(timeout_ms=1000)
