"""Whether every frame on the topic has exactly one outcome, read as an independent consumer would."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Self

from kafka import KafkaConsumer, TopicPartition

from operators.wire.schema import FRAME_HEADER_KEY, FrameHeader, Result, from_json

Key = tuple[str, str, int]


class Account:
    """The frames and results of the topics ``sluice.*``; a context manager."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._consumers: dict[str, Any] = {}
        self._found: dict[str, Counter[Key]] = {"frames": Counter(), "results": Counter()}

    def results(self) -> int:
        """How many results there are now."""
        return self._read("results").total()

    def settle(self, patience_s: float) -> None:
        """Return when there is a result for every frame, or the patience is at an end."""
        end_s = time.monotonic() + patience_s
        while self._read("frames").keys() - self._read("results").keys() and time.monotonic() < end_s:
            time.sleep(1.0)

    def without_outcome(self) -> int:
        """How many frames have no result."""
        return len(self._read("frames").keys() - self._read("results").keys())

    def repeated(self) -> int:
        """How many results are more than one for a frame."""
        results = self._read("results")
        return results.total() - len(results)

    def frames(self) -> int:
        """How many frames there are now."""
        return len(self._read("frames"))

    def _read(self, kind: str) -> Counter[Key]:
        consumer = self._consumer(kind)
        ends = consumer.end_offsets(list(consumer.assignment()))
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            for records in consumer.poll(timeout_ms=500).values():
                self._found[kind].update(_key(record) for record in records)
        return self._found[kind]

    def _consumer(self, kind: str) -> Any:
        if kind not in self._consumers:
            consumer = KafkaConsumer(
                bootstrap_servers=self._bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
            )
            topic = f"sluice.{kind}.v1"
            consumer.assign([TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)])
            self._consumers[kind] = consumer
        return self._consumers[kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._consumers:
            self._consumers.popitem()[1].close()


def _key(record: Any) -> Key:
    header = dict(record.headers).get(FRAME_HEADER_KEY)
    found: FrameHeader | Result = from_json(header, FrameHeader) if header else from_json(record.value, Result)
    return found.stream, found.run, found.seq
