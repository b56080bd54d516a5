from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from datetime import UTC, datetime

import pytest

from operators.wire.schema import FrameInfo, Plan, Result, to_json
from tests.integration.kafka_side import create_topic, send
from tests.real.command import SLUICE, environment, running_sluice, sluice
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

Broker = KafkaBroker | RemoteBroker


def a_result(stream: str, seq: int) -> bytes:
    return to_json(
        Result(
            stream=stream,
            run="run",
            seq=seq,
            query="test",
            frame=FrameInfo(width=64, height=48, media_time_s=seq / 10, captured_at=datetime.now(UTC)),
            outcome="analysed",
            plan=Plan(slo_ms=100, deadline_met=True),
        )
    )


@pytest.fixture
def results(kafka_broker: Broker, topic_prefix: str) -> tuple[str, ...]:
    """A topic with four results of two streams and two messages that are none; the options to watch it."""
    topic = f"{topic_prefix}results.v1"
    create_topic(kafka_broker.bootstrap, topic)
    messages = [(b"gate", a_result("gate", seq)) for seq in range(3)]
    messages += [(b"gate", b"\x00garbage"), (b"gate", b'{"schema":"sluice.result/9"}'), (b"yard", a_result("yard", 0))]
    send(kafka_broker.bootstrap, topic, messages)
    return ("watch", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)


def test_json_is_each_result_as_it_is_up_to_the_limit(results: tuple[str, ...]) -> None:
    done = sluice(*results, "--json", "--from-beginning", "--stream", "gate", "--limit", 3)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["schema"], line["stream"], line["seq"]) for line in lines] == [
        ("sluice.result/1", "gate", seq) for seq in range(3)
    ]


def test_what_is_no_result_is_skipped_with_a_line(results: tuple[str, ...]) -> None:
    done = sluice(*results, "--json", "--from-beginning", "--timeout", 20)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 4
    assert "has a message of another kind, skipped: partition" in done.stderr
    assert "2 messages of topic" in done.stderr


def test_people_get_a_table(results: tuple[str, ...]) -> None:
    done = sluice(*results, "--from-beginning", "--limit", 4)
    titles, *lines = done.stdout.splitlines()
    assert titles.split()[:3] == ["CAPTURED", "UTC", "STREAM"]
    assert sum("yard" in line for line in lines) == 1
    assert all("analysed" in line for line in lines)
    assert "\x1b" not in done.stdout


def test_without_from_beginning_only_what_comes_now(
    results: tuple[str, ...], kafka_broker: Broker, topic_prefix: str
) -> None:
    with running_sluice(*results, "--json", "--limit", 1, "--timeout", 60) as process:
        seq = 100
        while process.poll() is None:
            send(kafka_broker.bootstrap, f"{topic_prefix}results.v1", [(b"gate", a_result("gate", seq))])
            seq += 1
            time.sleep(0.3)
        out, _ = process.communicate(timeout=180)
    assert process.returncode == 0
    assert json.loads(out)["seq"] >= 100


def test_a_reader_that_leaves_ends_it_quietly(results: tuple[str, ...]) -> None:
    watch = shlex.join([SLUICE, *results, "--json", "--from-beginning", "--timeout", "30"])
    done = subprocess.run(
        ["bash", "-c", f"{watch} | true; echo status ${{PIPESTATUS[0]}}"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert done.stdout == "status 0\n"
    assert [line for line in done.stderr.splitlines() if "of another kind" not in line] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_status_0(results: tuple[str, ...], number: signal.Signals) -> None:
    with running_sluice(*results, "--from-beginning") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        _, errors = process.communicate(timeout=180)
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_a_topic_that_is_not_there_is_waited_for_then_told(kafka_broker: Broker, topic_prefix: str) -> None:
    done = sluice("watch", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix, "--timeout", 20)
    assert done.returncode == 1
    assert f"there is no topic {topic_prefix}results.v1: `sluice topics create`" in done.stderr.splitlines()[-1]


def test_no_broker_until_the_timeout() -> None:
    done = sluice("watch", "--broker", "127.0.0.1:1", "--timeout", 2)
    assert done.returncode == 1
    assert "gave up after 2 s" in done.stderr.splitlines()[-1]
