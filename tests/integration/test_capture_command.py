from __future__ import annotations

import json
import signal
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.integration.kafka_side import create_topic, read_all, read_frames, write_query
from tests.real.command import running_sluice, sluice
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.process import until

pytestmark = pytest.mark.kafka

Broker = KafkaBroker | RemoteBroker
STREET = "synthetic:street?seed=1&duration_s=4"


def decoded(image: bytes) -> tuple[int, ...]:
    return cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR).shape


@pytest.mark.data
def test_a_clip_arrives_whole_and_in_order(
    kafka_broker: Broker, topic_prefix: str, tmp_path: Path, data_dir: Path
) -> None:
    clip = data_dir / "videos" / "car-detection.mp4"
    done = sluice(
        *("capture", write_query(tmp_path), "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix),
        *("--source", clip, "--limit", 60),
    )
    assert done.returncode == 0, done.stderr
    (stream, frames), *others = read_frames(kafka_broker.bootstrap, f"{topic_prefix}frames.v1").items()
    assert (stream, others) == ("car-detection", [])
    assert frames.seqs == list(range(60))
    assert set(frames.causes) == {None}
    assert {decoded(image) for image in frames.images} == {(432, 768, 3)}
    header = frames.headers[25]
    assert header["schema"] == "sluice.frame/1"
    assert (header["width"], header["height"], header["encoding"]) == (768, 432, "jpeg")
    assert header["media_time_s"] == pytest.approx(25 / 12.5, abs=0.1)


def test_the_states_of_a_stream_are_told_in_order(kafka_broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    done = sluice(
        *("capture", write_query(tmp_path), "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix),
        *("--source", STREET, "--limit", 3),
    )
    assert done.returncode == 0, done.stderr
    states = [json.loads(record.value) for record in read_all(kafka_broker.bootstrap, f"{topic_prefix}streams.v1")]
    assert [state["state"] for state in states] == ["starting", "running", "ended"]
    assert states[-1]["frames"] == 3


def test_a_source_that_cannot_be_read_does_not_disturb_the_others(
    kafka_broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    done = sluice(
        *("capture", write_query(tmp_path), "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix),
        *("--source", "no-such-clip.mp4", "--source", STREET, "--limit", 5),
    )
    assert done.returncode == 2
    assert "no-such-clip" in done.stderr.splitlines()[-1]
    (frames,) = read_frames(kafka_broker.bootstrap, f"{topic_prefix}frames.v1").values()
    assert frames.seqs == list(range(5))


def test_a_topic_with_too_small_a_limit_gets_headers_and_the_user_a_line(
    kafka_broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    topic = f"{topic_prefix}frames.v1"
    create_topic(kafka_broker.bootstrap, topic, {"max.message.bytes": "5000"})
    done = sluice(
        *("capture", write_query(tmp_path), "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix),
        *("--source", STREET, "--limit", 10),
    )
    assert done.returncode == 0, done.stderr
    (frames,) = read_frames(kafka_broker.bootstrap, topic).values()
    assert frames.seqs == list(range(10))
    assert set(frames.causes) == {"message_too_large"}
    assert f"topic {topic} accepts messages of at most 5000 bytes" in done.stderr
    assert done.stderr.count("goes without its image (message_too_large)") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_flushes_and_ends_with_status_0(
    kafka_broker: Broker, topic_prefix: str, tmp_path: Path, number: signal.Signals
) -> None:
    alive = tmp_path / "alive"
    with running_sluice(
        *("capture", write_query(tmp_path), "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix),
        *("--source", STREET, "--loop", "--realtime", "--alive", alive),
    ) as process:
        assert process.stderr is not None
        while "running" not in process.stderr.readline():
            assert process.poll() is None
        until(lambda: sluice("health", alive).returncode == 0, "a healthy capture")
        process.send_signal(number)
        _, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    (frames,) = read_frames(kafka_broker.bootstrap, f"{topic_prefix}frames.v1").values()
    assert frames.seqs == list(range(len(frames.seqs)))
    told = int(errors.split("ended, ")[1].split(" frames")[0])
    assert len(frames.seqs) == told > 0


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("--broker", "127.0.0.1:1", "--broker-timeout", "1", "--source", STREET), 1, "no broker answers"),
        (("--broker", "127.0.0.1:1"), 2, "the query has no streams"),
        (("--source", STREET), 2, "no broker given"),
        (("--broker", "127.0.0.1:1", "--source", STREET, "--alive", "/no/such/folder/x"), 2, "--alive"),
    ],
)
def test_what_cannot_work_is_one_line(tmp_path: Path, arguments: tuple[str, ...], status: int, told: str) -> None:
    done = sluice("capture", write_query(tmp_path), *arguments)
    assert done.returncode == status
    assert told in done.stderr.splitlines()[-1]
