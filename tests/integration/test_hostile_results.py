"""Whatever is put on the results topic: workers start beside it, and ``sluice watch`` shows what can be shown."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Sequence

import msgspec
import pytest

from operators.wire.schema import Result, from_json, to_json
from tests.integration.kafka_side import create_topic, send
from tests.integration.test_watch import a_result
from tests.integration.test_worker import messages_of, working
from tests.integration.worker_parts import CountingAnalyser, Wire, frame_message, plain
from tests.real.command import SLUICE, environment, sluice
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

Broker = KafkaBroker | RemoteBroker
ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"


def odd_results(query: str) -> Sequence[bytes]:
    """None of them is a result, though some say which frame they answer."""
    good = json.loads(a_result("camera", 10**6)) | {"query": query}
    text = json.dumps(good).encode()
    identity = {"query": query, "stream": "camera", "run": "run", "seq": 10**6}
    return [
        json.dumps(identity).encode(),
        json.dumps(identity | {"schema": "sluice.result/2"}).encode(),
        json.dumps(good | {"frame": None}).encode(),
        json.dumps(good | {"seq": 10**400}).encode(),
        json.dumps(good | {"seq": -1}).encode(),
        json.dumps(good | {"stream": ESCAPES}).encode(),
        json.dumps(good | {"run": "r" * 600_000}).encode(),
        text.replace(b'"camera"', b'"cam\xff"'),
        text.replace(b'"camera"', b'"cam\\ud800"'),
        text[:-1] + b', "more": "\xff"}',
        text[:-1] + b', "more": ' + b"[" * 9999,
        text[:-1] + b', "more": ' + b"[" * 9999 + b"]" * 9999 + b"}",
        b'{"a":' * 9999,
        text[:-9],
        b"",
        ESCAPES.encode(),
    ]


def shown(seq: int) -> bytes:
    """A result that every reader takes, with names that act upon a terminal."""
    result = from_json(a_result("gate", seq), Result)
    return to_json(msgspec.structs.replace(result, outcome="failed", cause=f"{ESCAPES}broken"))


async def test_a_worker_starts_and_answers_beside_them(kafka_broker: Broker, topic_prefix: str) -> None:
    wire = Wire(plain(kafka_broker), topic_prefix)
    odd = odd_results(wire.query)
    send(kafka_broker.bootstrap, wire.topics.results, [(b"camera", value) for value in odd])
    await wire.send(frame_message("camera", seq) for seq in range(20))
    async with working(wire, CountingAnalyser(wire.query)) as task:
        found = await messages_of(wire, wire.topics.results, len(odd) + 20)
        assert not task.done()
    assert [from_json(message.value, Result).seq for message in found[len(odd) :]] == list(range(20))


@pytest.fixture
def topic(kafka_broker: Broker, topic_prefix: str) -> tuple[str, ...]:
    """Odd results amid three good ones; the options to watch them."""
    name = f"{topic_prefix}results.v1"
    create_topic(kafka_broker.bootstrap, name)
    values = [shown(0), *odd_results("test"), shown(1), shown(2)]
    send(kafka_broker.bootstrap, name, [(b"gate", value) for value in values])
    return ("watch", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix, "--from-beginning", "--limit", "3")


def test_watch_passes_them_over_with_a_line_and_shows_the_others(topic: tuple[str, ...]) -> None:
    done = sluice(*topic, "--json", "--timeout", 30)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == [0, 1, 2]
    assert json.loads(done.stdout.splitlines()[0])["cause"] == f"{ESCAPES}broken"
    assert all(line.isprintable() for line in done.stdout.splitlines() + done.stderr.splitlines())
    assert "has a message of another kind, skipped: partition 0 offset 1: " in done.stderr
    assert f"{len(odd_results(''))} messages of topic" in done.stderr


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nothing_of_them_acts_upon_the_terminal(topic: tuple[str, ...], options: tuple[str, ...]) -> None:
    said = in_a_terminal(*topic, *options, "--timeout", "30")
    assert "broken" in said
    for each in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e"):
        assert each not in said


def in_a_terminal(*arguments: str) -> str:
    """All that the command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([SLUICE, *arguments], stdout=theirs, stderr=theirs, stdin=theirs, env=environment())
    os.close(theirs)
    said = bytearray()
    try:
        while data := _read(ours):
            said += data
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so where nobody holds the other end any more
        return b""
