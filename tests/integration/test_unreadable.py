"""Records that a client library cannot read, on a real broker amid good frames: the good ones are answered."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from operators.wire.schema import FRAME_HEADER_KEY, DeadLetter, from_json
from pipelines.kafka.topic_reader import records
from tests.integration.kafka_side import create_topic
from tests.integration.test_watch import a_result
from tests.integration.test_worker import messages_of, results_of, working
from tests.integration.worker_parts import CountingAnalyser, KafkaWire, Sent, frame_message, plain
from tests.real.command import running_sluice
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.raw_batches import GZIP, SNAPPY, ZSTD, batch, produce, record

pytestmark = pytest.mark.kafka

BAD_NAME = b"caf\xe9"


@pytest.fixture
def wire(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> KafkaWire:
    return KafkaWire(plain(kafka_broker), topic_prefix)


def frame_record(delta: int, sent: Sent, *more: tuple[bytes, bytes | None]) -> bytes:
    headers = [(name.encode(), content) for name, content in sent.headers]
    return record(delta, sent.value, sent.key, (*headers, *more))


def strange(frames: Iterator[Sent]) -> list[tuple[bytes, int]]:
    """Batches, and how many good frames each holds."""
    return [
        (batch([frame_record(0, next(frames), (BAD_NAME, b"x"))]), 0),
        (batch([frame_record(0, next(frames)), frame_record(1, next(frames), (BAD_NAME, None))]), 1),
        (batch([frame_record(0, next(frames), (BAD_NAME, b"")), frame_record(1, next(frames))], GZIP), 1),
        (batch([record(0, b"small")], SNAPPY), 0),
        (batch([record(0, b"small")], ZSTD), 0),
        (batch([record(0, bytes(40_000_000))], GZIP), 0),
        (batch([record(0, None, None, ((b"\xff" * 300, b"\xff"),) * 50)]), 0),
    ]


async def test_good_frames_amid_unreadable_records_are_answered(
    wire: KafkaWire, kafka_broker: KafkaBroker | RemoteBroker, caplog: pytest.LogCaptureFixture
) -> None:
    good = 0
    frames = (frame_message(f"camera-{seq % 5}", seq, "jpeg") for seq in range(1000))
    for number, (data, inside) in enumerate(strange(frames)):
        await wire.send([next(frames) for _ in range(10)])
        assert await produce(kafka_broker.bootstrap, wire.topics.frames, number % 2, data) == 0
        good += 10 + inside
    await wire.send([next(frames) for _ in range(10)])
    with caplog.at_level(logging.INFO):
        async with working(wire, CountingAnalyser(wire.query)):
            results = await results_of(wire, good + 10)
            letters = [from_json(found.value, DeadLetter) for found in await messages_of(wire, wire.topics.dlq, 7)]

    assert {result.outcome for result in results} == {"analysed"}
    assert len(results) == good + 10
    assert [letter.reason for letter in letters] == ["unreadable_record"] * 7
    assert {letter.message for letter in letters} == {
        "no readable record: the name of a header is not UTF-8",
        "no readable record: compression snappy is not supported: let the sender use gzip or none",
        "no readable record: compression zstd is not supported: let the sender use gzip or none",
        "no readable record: it becomes larger than 33554432 bytes",
    }
    assert any(FRAME_HEADER_KEY in letter.headers and letter.value_base64 for letter in letters), "what could be read"
    told = [line for line in caplog.messages if "cannot be read and is skipped" in line]
    assert len(told) == 7
    assert all(f"topic {wire.topics.frames} partition " in line for line in told)
    assert "starting again" not in caplog.text


async def test_a_batch_that_the_disk_has_damaged_is_skipped(wire: KafkaWire, kafka_broker: KafkaBroker) -> None:
    if isinstance(kafka_broker, RemoteBroker):
        pytest.skip("the disk of this broker is out of reach")
    for seq in range(3):
        data = batch([frame_record(0, frame_message("camera", seq, "jpeg"))])
        assert await produce(kafka_broker.bootstrap, wire.topics.frames, 0, data) == 0
    [log] = kafka_broker.directory.glob(f"**/{wire.topics.frames}-0/*.log")
    damage(log, 1)
    async with working(wire, CountingAnalyser(wire.query)):
        results = await results_of(wire, 2)
        [letter] = await messages_of(wire, wire.topics.dlq, 1)
    assert [result.seq for result in results] == [0, 2]
    assert from_json(letter.value, DeadLetter).message.endswith("its checksum is wrong")


def damage(log: Path, number: int) -> None:
    """Turn a bit in the middle of a batch of a topic's file."""
    data = bytearray(log.read_bytes())
    at = 0
    for _ in range(number):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    with log.open("r+b") as file:
        file.seek(at + 100)
        file.write(bytes([data[at + 100] ^ 1]))


async def test_a_topic_that_is_read_as_a_whole_gives_what_can_be_read(
    wire: KafkaWire, kafka_broker: KafkaBroker | RemoteBroker, caplog: pytest.LogCaptureFixture
) -> None:
    topic = wire.topics.results
    for data in (
        batch([record(0, b"a")]),
        batch([record(0, b"b", headers=((BAD_NAME, b""),)), record(1, b"c")]),
        batch([record(0, b"small")], SNAPPY),
        batch([record(0, b"d")]),
    ):
        assert await produce(kafka_broker.bootstrap, topic, 0, data) == 0
    found = [record.value async for record in records(wire.broker, topic, "letters")]
    assert found == [b"a", b"c", b"d"]
    assert caplog.text.count("cannot be read and is skipped") == 2


async def test_watch_shows_what_can_be_read(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> None:
    topic = f"{topic_prefix}results.v1"
    create_topic(kafka_broker.bootstrap, topic)
    first, second = a_result("gate", 0), a_result("gate", 1)
    for data in (
        batch([record(0, first)]),
        batch([record(0, b"b", headers=((BAD_NAME, b""),))]),
        batch([record(0, b"small")], ZSTD),
        batch([record(0, second)]),
    ):
        assert await produce(kafka_broker.bootstrap, topic, 0, data) == 0
    options = ("--json", "--from-beginning", "--limit", 2, "--timeout", 60)
    with running_sluice("watch", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix, *options) as process:
        out, errors = process.communicate(timeout=180)
    assert [line.encode() for line in out.splitlines()] == [first, second], errors
    assert errors.count("cannot be read and is skipped") == 2
    assert process.returncode == 0
