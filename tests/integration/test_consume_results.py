"""What docs/consume-results.md tells people to do works as it stands there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from operators.wire.schema import BoundingBox, Detection, FrameInfo, Object, Plan, Result, to_json
from tests.integration.kafka_side import create_topic, send
from tests.integration.test_watch import a_result
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.require import unavailable

pytestmark = pytest.mark.kafka

Broker = KafkaBroker | RemoteBroker
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "consume-results.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


def a_truck(seq: int) -> bytes:
    detection = Detection(
        bounding_box=BoundingBox(x_min=0.5, y_min=0.25, x_max=0.75, y_max=0.5), confidence=0.8, label="moving"
    )
    return to_json(
        Result(
            stream="gate",
            run="run",
            seq=seq,
            query="test",
            frame=FrameInfo(width=640, height=480, media_time_s=0.0, captured_at=datetime.now(UTC)),
            outcome="analysed",
            plan=Plan(slo_ms=100, deadline_met=True),
            objects=[Object(id=0, label="truck", confidence=0.9, track_id=7, detection=detection)],
        )
    )


@pytest.fixture
def topic(kafka_broker: Broker, topic_prefix: str) -> str:
    name = f"{topic_prefix}results.v1"
    create_topic(kafka_broker.bootstrap, name)
    messages = [a_result("gate", 0), a_truck(1), a_truck(1), b'{"schema":"sluice.result/2"}', a_truck(2)]
    send(kafka_broker.bootstrap, name, [(b"gate", value) for value in messages])
    return name


def at(text: str, broker: Broker, topic: str) -> str:
    """The document's address and topic replaced by the test's."""
    return text.replace("127.0.0.1:9092", broker.bootstrap).replace("sluice.results.v1", topic)


def test_the_consumer_prints_what_was_found_once(kafka_broker: Broker, topic: str) -> None:
    _, code, _ = blocks("python")
    assert "for message in consumer:" in code
    ending = code.replace("for message in consumer:", "for _, message in zip(range(5), consumer):")
    done = subprocess.run(
        [sys.executable, "-c", at(f"{ending}consumer.close()", kafka_broker, topic)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["gate 1 7 truck at 320,120", "gate 2 7 truck at 320,120"]


def test_the_line_of_kcat_prints_one_object_a_line(kafka_broker: Broker, topic: str) -> None:
    if shutil.which("kcat") is None:
        unavailable("kcat", "no `kcat` on the PATH", "apt-get install kcat")
    line = next(line for line in blocks("sh") if "results.v1" in line)
    done = subprocess.run(
        at(line, kafka_broker, topic), shell=True, capture_output=True, text=True, timeout=180, check=True
    )
    assert [json.loads(text).get("seq") for text in done.stdout.splitlines()] == [0, 1, 1, None, 2]
