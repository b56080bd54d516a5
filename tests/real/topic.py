"""Reads topics as an independent consumer would: every message that they hold, in the order of each partition."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Self

from kafka import KafkaConsumer, TopicPartition

from operators.wire.schema import FRAME_HEADER_KEY, FrameHeader, Result, StreamStatus, from_json


@dataclass(frozen=True)
class Message:
    """One message of a topic."""

    partition: int
    offset: int
    key: str
    value: bytes
    headers: dict[str, bytes]


class Topics:
    """The topics of one installation on a broker, by their kind: ``frames``, ``results``, …; a context manager.

    What was read is kept, so that asking again costs only what is new.
    """

    def __init__(self, bootstrap: str, prefix: str = "sluice.") -> None:
        self._bootstrap = bootstrap
        self._prefix = prefix
        self._consumers: dict[str, Any] = {}
        self._read: dict[str, list[Message]] = defaultdict(list)

    def messages(self, kind: str) -> list[Message]:
        """All that the topic holds at this moment; none where there is no such topic yet."""
        consumer = self._consumer(kind)
        ends = consumer.end_offsets(list(consumer.assignment())) if consumer.assignment() else {}
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            for records in consumer.poll(timeout_ms=500).values():
                self._read[kind] += map(_message, records)
        return self._read[kind]

    def count(self, kind: str) -> int:
        """How many messages the topic holds."""
        return len(self.messages(kind))

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._consumers:
            self._consumers.popitem()[1].close()
        self._read.clear()

    def _consumer(self, kind: str) -> Any:
        if kind not in self._consumers:
            self._consumers[kind] = KafkaConsumer(
                bootstrap_servers=self._bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
            )
        consumer = self._consumers[kind]
        if not consumer.assignment():
            topic = f"{self._prefix}{kind}.v1"
            consumer.assign([TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()])
        return consumer


def _message(record: Any) -> Message:
    headers = dict(record.headers)
    return Message(record.partition, record.offset, (record.key or b"").decode(), record.value or b"", headers)
