"""A producer without a line of Sluice publishes every frame; workers thin them as the query says, also a successor."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import cv2
import numpy as np
import pytest
from kafka import KafkaProducer

from tests.integration.kafka_side import create_topic, read_all
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

QUERY = """\
version: 1
name: thinned
slo_ms: 60000
streams:
  - {id: gate, uri: "rtsp://a.local/1", overload: block, sample: {fps: 5}}
  - {id: yard, uri: "rtsp://a.local/2", overload: block, motion_gate: true}
  - {id: lane, uri: "rtsp://a.local/3", overload: block}
nodes:
  - {name: find, task: detect, model: motion}
"""
HALF, WHOLE = 102, 200
MOVES = {"gate": (), "yard": (10, 50, 150), "lane": ()}


def jpeg(stream: str, seq: int) -> bytes:
    picture = np.full((180, 320, 3), 90, np.uint8)
    steps = sum(seq >= moved for moved in MOVES[stream])
    picture[60:90, 40 * steps : 40 * steps + 30] = 200
    return bytes(cv2.imencode(".jpg", picture)[1])


def publish(broker: str, topic: str, seqs: range) -> None:
    producer = KafkaProducer(bootstrap_servers=broker)
    for seq in seqs:
        for stream in MOVES:
            header = {
                "schema": "sluice.frame/1",
                "stream": stream,
                "run": "theirs",
                "seq": seq,
                "width": 320,
                "height": 180,
                "media_time_s": seq / 25,
                "encoding": "jpeg",
                "captured_at": datetime.now(UTC).isoformat(),
            }
            headers = [("frame", json.dumps(header).encode())]
            producer.send(topic, jpeg(stream, seq), stream.encode(), headers=headers)
    producer.flush()
    producer.close()


def test_every_frame_is_published_and_those_that_the_query_asks_for_are_looked_at(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str, tmp_path: Path
) -> None:
    at = kafka_broker.bootstrap
    for kind in ("frames", "results", "events", "dlq", "plans", "state"):
        create_topic(at, f"{topic_prefix}{kind}.v1")
    (tmp_path / "query.yaml").write_text(QUERY)
    command = ("worker", tmp_path / "query.yaml", "--prefix", topic_prefix)

    def answered() -> dict[str, list[int]]:
        found = defaultdict(list)
        for record in read_all(at, f"{topic_prefix}results.v1"):
            result = json.loads(record.value)
            found[result["stream"]].append(result["seq"])
        return found

    publish(at, f"{topic_prefix}frames.v1", range(HALF))
    with Sluice(tmp_path / "first", *command, broker=at) as first:
        until(lambda: len(answered()["gate"]) >= 10, "results of half of what is published", first)
        first.kill()
    publish(at, f"{topic_prefix}frames.v1", range(HALF, WHOLE))
    with Sluice(tmp_path / "second", *command, broker=at) as second:
        until(lambda: [found[-1:] for found in answered().values()].count([WHOLE - 1]) == 1, "the last", second)
        until(lambda: answered()["gate"][-1] == 195 and answered()["yard"][-1] >= 150, "the last of the others", second)
        assert second.terminate() == 0, second.errors
    found = answered()
    assert found["gate"] == list(range(0, WHOLE, 5)), "as if one worker had seen them all"
    assert found["lane"] == list(range(WHOLE))
    moved = {0, *MOVES["yard"]}
    assert moved <= set(found["yard"])
    assert len(found["yard"]) <= len(moved) + 1, "the first that a successor sees passes"
    assert found["yard"] == sorted(found["yard"])
    assert list(read_all(at, f"{topic_prefix}dlq.v1")) == []
