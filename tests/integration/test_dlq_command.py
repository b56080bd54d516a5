"""Dead letters on a real broker: from the worker that wrote them to the result of the mended frame."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.kafka_side import create_topic, send
from tests.integration.test_worker import messages_of, results_of, working
from tests.integration.worker_parts import CountingAnalyser, Wire, frame_message, plain
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker, RemoteBroker

pytestmark = pytest.mark.kafka

Broker = KafkaBroker | RemoteBroker


async def test_a_damaged_frame_is_found_mended_put_back_and_analysed(
    kafka_broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    wire = Wire(plain(kafka_broker), topic_prefix)
    where = ("--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)
    good = frame_message("gate", 0)
    assert good.value is not None
    headless = replace(frame_message("gate", 1), headers=())
    image, header = tmp_path / "image.jpg", tmp_path / "header.json"
    async with working(wire, CountingAnalyser(wire.query)):
        await wire.send([replace(good, value=good.value[:-60]), headless, frame_message("gate", 2)])
        await messages_of(wire, wire.topics.dlq, 2)

        listed = await asyncio.to_thread(sluice, "dlq", "list", *where, "--json")
        letters = {each["reason"]: each for each in map(json.loads, listed.stdout.splitlines())}
        assert letters.keys() == {"undecodable_image", "bad_header"}
        place = letters["undecodable_image"]["place"]

        shown = await asyncio.to_thread(sluice, "dlq", "show", place, *where, "--image", image, "--header", header)
        assert "cut off" in shown.stdout
        assert image.read_bytes() == good.value[:-60]
        assert json.loads(header.read_text())["seq"] == 0

        again = await asyncio.to_thread(sluice, "dlq", "replay", "--reason", "undecodable_image", *where)
        assert again.returncode == 1
        assert "it would become a dead letter again (undecodable_image" in again.stderr

        image.write_bytes(good.value)
        back = await asyncio.to_thread(sluice, "dlq", "replay", place, *where, "--image", image, "--now")
        assert back.returncode == 0, back.stderr
        results = await results_of(wire, 3)
    outcomes = {(result.seq, result.outcome) for result in results}
    assert outcomes == {(0, "failed"), (0, "analysed"), (2, "analysed")}


def test_what_is_no_letter_is_skipped_and_what_is_missing_is_said(kafka_broker: Broker, topic_prefix: str) -> None:
    where = ("--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)
    missing = sluice("dlq", "list", *where)
    assert missing.returncode == 1
    assert f"there is no topic {topic_prefix}dlq.v1" in missing.stderr
    create_topic(kafka_broker.bootstrap, f"{topic_prefix}dlq.v1", partitions=1)
    send(kafka_broker.bootstrap, f"{topic_prefix}dlq.v1", [(b"gate", b"\xff"), (b"gate", b"[" * 5000)])
    listed = sluice("dlq", "list", *where)
    assert listed.returncode == 0, listed.stderr
    assert "has no such letter" in listed.stdout
    assert listed.stderr.count("is no dead letter") == 2
    assert sluice("dlq", "show", "0:1", *where).returncode == 2
    assert sluice("dlq", "show", "7:0", *where).returncode == 2
    assert sluice("dlq", "replay", *where).returncode == 2
