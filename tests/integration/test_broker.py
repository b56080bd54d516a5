"""The broker that every other integration test relies on."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient

from tests.real import broker as broker_module
from tests.real import kafka as kafka_module
from tests.real.kafka import KafkaBroker

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.kafka


def test_keeps_its_data_and_address_over_a_kill(own_kafka_broker: KafkaBroker) -> None:
    broker = own_kafka_broker
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics({"kept": {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    producer.send("kept", b"before").get(180)
    producer.close()
    address = broker.bootstrap

    broker.kill()
    broker.start()

    assert broker.bootstrap == address
    consumer = KafkaConsumer(
        "kept", bootstrap_servers=address, auto_offset_reset="earliest", consumer_timeout_ms=120_000
    )
    assert next(consumer).value == b"before"
    consumer.close()


def test_a_missing_java_is_a_skip_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SLUICE_REQUIRE_REAL", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"Kafka broker is missing: no `java`.*apt-get install"):
        kafka_module.require_jars()


def test_where_real_parts_are_demanded_the_skip_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SLUICE_REQUIRE_REAL", "1")
    with pytest.raises(pytest.fail.Exception, match="Kafka broker is missing"):
        kafka_module.require_jars()


def test_missing_maven_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = broker_module.shutil.which
    monkeypatch.setattr(broker_module.shutil, "which", lambda name: None if name == "mvn" else real(name))
    with pytest.raises(broker_module.MissingError, match="`mvn`"):
        broker_module.jars(tmp_path)


def test_dies_with_the_process_that_started_it() -> None:
    kafka_module.require_jars()
    code = (
        "import time; from tests.real.broker import KafkaBroker; broker = KafkaBroker(); broker.start(); "
        "print(broker.port, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        port = int(owner.stdout.readline())
        owner.kill()
    deadline = time.monotonic() + 120
    while listens(port):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
