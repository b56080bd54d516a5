"""Reads a topic as an independent consumer would: every message that it holds, in the order of each partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from operators.schema import FRAME_HEADER_KEY, FrameHeader, Result, StreamStatus, from_json


@dataclass(frozen=True)
class Message:
    """One message of a topic."""

    partition: int
    offset: int
    key: str
    value: bytes
    headers: dict[str, bytes]


class Topics:
    """The topics of one installation on a broker, by their kind: ``frames``, ``results``, …"""

    def __init__(self, bootstrap: str, prefix: str = "sluice.") -> None:
        self._bootstrap = bootstrap
        self._prefix = prefix

    def messages(self, kind: str) -> list[Message]:
        """All that the topic holds at this moment; none where there is no such topic yet."""
        with self._consumer() as consumer:
            return list(_messages(consumer, f"{self._prefix}{kind}.v1"))

    def count(self, kind: str) -> int:
        """How many messages the topic holds, without reading them."""
        with self._consumer() as consumer:
            ends = consumer.end_offsets(_partitions(consumer, f"{self._prefix}{kind}.v1"))
            return sum(ends.values())

    def frames(self) -> list[FrameHeader]:
        """The headers of all frames."""
        return [from_json(message.headers[FRAME_HEADER_KEY], FrameHeader) for message in self.messages("frames")]

    def results(self) -> list[Result]:
        """All results; their keys are checked."""
        found = [(message.key, from_json(message.value, Result)) for message in self.messages("results")]
        assert all(key == result.stream for key, result in found)
        return [result for _, result in found]

    def statuses(self) -> list[StreamStatus]:
        """All changes of streams' states that compaction has left."""
        return [from_json(message.value, StreamStatus) for message in self.messages("streams")]

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
        )
        try:
            yield consumer
        finally:
            consumer.close()


def _partitions(consumer: Any, topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]


def _messages(consumer: Any, topic: str) -> Iterator[Message]:
    partitions = _partitions(consumer, topic)
    ends = consumer.end_offsets(partitions)
    consumer.assign(partitions)
    while _unread(consumer, ends):
        for records in consumer.poll(timeout_ms=500).values():
            for record in records:
                key, headers = (record.key or b"").decode(), dict(record.headers)
                yield Message(record.partition, record.offset, key, record.value or b"", headers)


def _unread(consumer: Any, ends: dict[TopicPartition, int]) -> Sequence[TopicPartition]:
    return [partition for partition, end in ends.items() if consumer.position(partition) < end]
