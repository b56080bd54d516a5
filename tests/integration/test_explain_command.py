from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from operators.wire.schema import Result, StreamPlan, from_json, to_json
from tests.integration.kafka_side import create_topic, send
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

GOLDEN = Path(__file__).parents[1] / "golden"


def test_a_frame_is_explained_from_the_broker(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> None:
    result = from_json((GOLDEN / "result-replanned.json").read_bytes(), Result)
    plan = from_json((GOLDEN / "plan.json").read_bytes(), StreamPlan)
    plan = msgspec.structs.replace(plan, stream=result.stream, query=result.query)
    key = result.stream.encode()
    for topic, messages in {
        "results.v1": [
            (key, b"\x00garbage"),
            (b"yard", to_json(msgspec.structs.replace(result, stream="yard"))),
            (key, to_json(result)),
        ],
        "plans.v1": [(key, to_json(plan)), (key, b"{}")],
    }.items():
        create_topic(kafka_broker.bootstrap, f"{topic_prefix}{topic}")
        send(kafka_broker.bootstrap, f"{topic_prefix}{topic}", messages)
    given = ("explain", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix, "--frame", result.seq)
    done = sluice(*given, "--stream", result.stream)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"frame {result.seq} of stream {result.stream}, ")
    assert any(line.startswith(f"{plan.nodes[0].node}, shortcut ") for line in lines)
    several = sluice(*given)
    assert several.returncode == 2
    assert "say --stream" in several.stderr
