"""An independent look at the broker: kafka-python, without a line of Sluice."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

QUERY = """\
version: 1
name: test
slo_ms: 200
nodes:
  - {name: find, task: detect, model: motion}
"""


def write_query(folder: Path, text: str = "") -> Path:
    path = folder / "query.yaml"
    path.write_text(QUERY + text)
    return path


def create_topic(bootstrap: str, name: str, configs: Mapping[str, str] | None = None, partitions: int = 2) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.create_topics(
            {name: {"num_partitions": partitions, "replication_factor": 1, "configs": dict(configs or {})}},
            wait_for_metadata=True,
        )
    finally:
        admin.close()


def send(bootstrap: str, topic: str, messages: list[tuple[bytes, bytes]], stamp_ms: int | None = None) -> None:
    """Key and value each; ``stamp_ms``: the time of all of them, else now."""
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    try:
        for key, value in messages:
            producer.send(topic, value=value, key=key, timestamp_ms=stamp_ms).get(180)
    finally:
        producer.close()


def read_all(bootstrap: str, topic: str) -> Iterator[Any]:
    """Every message that the topic has now, in order per partition."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_partition_fetch_bytes=8 << 20
    )
    try:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            for records in consumer.poll(500).values():
                yield from records
    finally:
        consumer.close()


@dataclass
class Frames:
    """What the frames topic has of one stream."""

    headers: list[dict[str, Any]] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)

    @property
    def seqs(self) -> list[int]:
        return [header["seq"] for header in self.headers]

    @property
    def causes(self) -> list[str | None]:
        return [header["cause"] for header in self.headers]


def read_frames(bootstrap: str, topic: str) -> dict[str, Frames]:
    """By stream, which is the key."""
    streams: dict[str, Frames] = defaultdict(Frames)
    for record in read_all(bootstrap, topic):
        frames = streams[record.key.decode()]
        frames.headers.append(json.loads(dict(record.headers)["frame"]))
        frames.images.append(record.value)
    return streams
