"""Batches that a client library cannot read, on a real broker amid good frames: the good ones are answered."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from operators.wire.schema import DeadLetter, from_json
from pipelines.kafka.topic_reader import records
from tests.integration.kafka_side import create_topic
from tests.integration.test_watch import a_result
from tests.integration.test_worker import messages_of, results_of, working
from tests.integration.worker_parts import CountingAnalyser, Sent, Wire, frame_message
from tests.real.command import running_sluice
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.raw_batches import GZIP, SNAPPY, ZSTD, batch, produce, record

pytestmark = pytest.mark.kafka

BAD_NAME = b"caf\xe9"


def frame_record(delta: int, sent: Sent, *more: tuple[bytes, bytes | None]) -> bytes:
    headers = [(name.encode(), content) for name, content in sent.headers]
    return record(delta, sent.value, sent.key, (*headers, *more))


def strange(frames: Iterator[Sent]) -> list[bytes]:
    return [
        batch([frame_record(0, next(frames), (BAD_NAME, b"x"))]),
        batch([frame_record(0, next(frames)), frame_record(1, next(frames), (BAD_NAME, None))]),
        batch([frame_record(0, next(frames), (BAD_NAME, b"")), frame_record(1, next(frames))], GZIP),
        batch([record(0, b"small")], SNAPPY),
        batch([record(0, b"small")], ZSTD),
        batch([record(0, bytes(40_000_000))], GZIP),
        batch([record(0, None, None, ((b"\xff" * 300, b"\xff"),) * 50)]),
    ]


async def test_good_frames_amid_unreadable_batches_are_answered_and_each_of_these_has_one_letter(
    wire: Wire, kafka_broker: KafkaBroker | RemoteBroker, caplog: pytest.LogCaptureFixture
) -> None:
    frames = (frame_message(f"camera-{seq % 5}", seq) for seq in range(1000))
    bad = strange(frames)
    good = 10 * (len(bad) + 1)
    for number, data in enumerate(bad):
        await wire.send([next(frames) for _ in range(10)])
        assert await produce(kafka_broker.bootstrap, wire.topics.frames, number % 2, data) == 0
    await wire.send([next(frames) for _ in range(10)])
    with caplog.at_level(logging.INFO):
        async with working(wire, CountingAnalyser(wire.query)):
            results = await results_of(wire, good)
            letters = [from_json(found.value, DeadLetter) for found in await messages_of(wire, wire.topics.dlq, 7)]

    assert {result.outcome for result in results} == {"analysed"}
    assert len(results) == good
    assert [letter.reason for letter in letters] == ["unreadable_record"] * 7
    assert {letter.topic for letter in letters} == {wire.topics.frames}
    assert all(re.match(rf"offsets \d+ to {letter.offset} cannot be read: ", letter.message) for letter in letters)
    assert sum("codec can't decode" in letter.message for letter in letters) == 4
    assert sum("let the sender use gzip or none" in letter.message for letter in letters) == 2
    assert sum("becomes larger than 33554432 bytes" in letter.message for letter in letters) == 1
    assert all(letter.value_base64 for letter in letters), "the bytes that were sent"
    assert f"a batch is skipped: topic {wire.topics.frames} partition " in caplog.text
    assert "starting again" not in caplog.text


async def test_a_batch_that_the_disk_has_damaged_is_skipped(wire: Wire, kafka_broker: KafkaBroker) -> None:
    if isinstance(kafka_broker, RemoteBroker):
        pytest.skip("the disk of this broker is out of reach")
    for seq in range(3):
        data = batch([frame_record(0, frame_message("camera", seq))])
        assert await produce(kafka_broker.bootstrap, wire.topics.frames, 0, data) == 0
    [log] = kafka_broker.directory.glob(f"**/{wire.topics.frames}-0/*.log")
    damage(log, 1)
    async with working(wire, CountingAnalyser(wire.query)):
        results = await results_of(wire, 2)
        [letter] = await messages_of(wire, wire.topics.dlq, 1)
    assert [result.seq for result in results] == [0, 2]
    assert from_json(letter.value, DeadLetter).message.endswith("the checksum of the batch is wrong")


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
    wire: Wire, kafka_broker: KafkaBroker | RemoteBroker, caplog: pytest.LogCaptureFixture
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
    assert found == [b"a", b"d"]
    assert f"a batch is skipped: topic {topic} partition 0: offsets 1 to 2 cannot be read: " in caplog.text


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
    assert f"a batch is skipped: topic {topic} partition 0: offsets 1 to 1 cannot be read: " in errors
    assert process.returncode == 0
