from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from kafka import KafkaProducer

from pipelines.kafka.topics import KINDS
from tests.integration.kafka_side import create_topic, write_query
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

Broker = KafkaBroker | RemoteBroker


def test_create_makes_what_is_missing_and_says_what_exists(kafka_broker: Broker, topic_prefix: str) -> None:
    arguments = ("topics", "create", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)
    names = [f"{topic_prefix}{kind}.v1" for kind in KINDS]
    first, second = sluice(*arguments), sluice(*arguments)
    assert first.stdout.splitlines() == [f"{name}: created" for name in names], first.stderr
    assert second.stdout.splitlines() == [f"{name}: exists" for name in names]
    assert first.returncode == second.returncode == 0


def test_the_query_says_how_topics_shall_be(kafka_broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    query = write_query(
        tmp_path,
        f"publish: {{topics: {{prefix: {topic_prefix}, frames: {{partitions: 3, max_message_bytes: 2000000}}}}}}",
    )
    made = sluice("topics", "create", query, "--broker", kafka_broker.bootstrap)
    assert made.returncode == 0, made.stderr
    described = sluice("topics", "describe", query, "--json", "--broker", kafka_broker.bootstrap)
    frames = json.loads(described.stdout)[f"{topic_prefix}frames.v1"]
    assert frames["partitions"] == 3
    assert frames["configs"]["max.message.bytes"] == "2000000"
    assert frames["differences"] == []
    streams = json.loads(described.stdout)[f"{topic_prefix}streams.v1"]
    assert streams["configs"]["cleanup.policy"] == "compact"
    state = json.loads(described.stdout)[f"{topic_prefix}state.v1"]
    assert state["configs"]["cleanup.policy"] == "compact,delete"
    assert state["differences"] == []


def test_differences_are_told_and_updated_only_when_asked(kafka_broker: Broker, topic_prefix: str) -> None:
    create_topic(kafka_broker.bootstrap, f"{topic_prefix}frames.v1", {"max.message.bytes": "100000"}, partitions=2)
    where = ("--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)

    told = sluice("topics", "create", *where)
    assert "max.message.bytes is 100000, wanted 8388608: change it with --update" in told.stdout
    assert "partitions is 2, wanted 4: left alone" in told.stdout
    described = sluice("topics", "describe", *where)
    assert "accepts messages of at most 100000 bytes" in described.stderr

    updated = sluice("topics", "create", "--update", *where)
    assert "max.message.bytes was 100000, is 8388608" in updated.stdout
    after = sluice("topics", "describe", *where)
    assert "accepts messages" not in after.stderr
    assert "partitions is 2, wanted 4" in after.stdout


@pytest.mark.parametrize("hours", [-3, 3])
def test_frames_of_a_machine_whose_clock_is_wrong_are_taken_and_have_the_broker_s_time(
    kafka_broker: Broker, topic_prefix: str, hours: int
) -> None:
    sluice("topics", "create", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)
    topic, wrong_ms = f"{topic_prefix}frames.v1", int((time.time() + hours * 3600) * 1000)
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap)
    sent = producer.send(topic, b"", b"yard", timestamp_ms=wrong_ms).get(60)
    producer.close()
    assert abs(sent.timestamp - wrong_ms) > 3_600_000


def test_describe_shows_missing_topics(kafka_broker: Broker, topic_prefix: str) -> None:
    done = sluice("topics", "describe", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)
    assert done.returncode == 0
    assert done.stdout.count("missing: sluice topics create") == len(KINDS)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("--broker", "127.0.0.1:1", "--broker-timeout", "1"), 1, "no broker answers at kafka://127.0.0.1:1"),
        ((), 2, "no broker given: use --broker"),
        (("--broker", "https://broker"), 2, "only kafka://"),
        (("no-such-query.yaml", "--broker", "127.0.0.1:1"), 2, "no-such-query.yaml"),
    ],
)
def test_what_cannot_work_is_one_line(arguments: tuple[str, ...], status: int, told: str) -> None:
    done = sluice("topics", "create", *arguments)
    assert done.returncode == status
    assert told in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("sluice: error: ")
