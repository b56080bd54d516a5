"""The broker goes away while capture or watch runs, or is not there yet when they start."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.integration.kafka_side import create_topic, read_frames, send, write_query
from tests.integration.test_watch import a_result
from tests.real.command import running_sluice
from tests.real.kafka import KafkaBroker, require_jars

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

STREET = "synthetic:street?seed=1"
FULL, OVERRUN = "capture_buffer_full", "capture_overrun"


@pytest.fixture(scope="module")
def shared() -> Iterator[KafkaBroker]:
    require_jars()
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture
def broker(shared: KafkaBroker) -> Iterator[KafkaBroker]:
    """Runs when the test begins, whatever the one before did to it."""
    if shared.process is None:
        shared.start()
    return shared


@pytest.fixture
def topic(topic_prefix: str) -> str:
    return f"{topic_prefix}frames.v1"


Running = AbstractContextManager[subprocess.Popen[str]]


def capture(broker: KafkaBroker, folder: Path, prefix: str, *options: str) -> Running:
    where = ("--broker", broker.bootstrap, "--broker-timeout", 300, "--prefix", prefix, "--source", STREET)
    return running_sluice("capture", write_query(folder), *where, *options)


def wait_for(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line, f"ended without saying {words!r}"


def end(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=400)
    assert process.returncode == 0, errors
    return errors


def unbroken(seqs: list[int]) -> bool:
    """In order from 0, each at least once: a frame whose acknowledgement was lost may come twice in a row."""
    return list(dict.fromkeys(seqs)) == list(range(max(seqs) + 1))


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_nothing_is_lost_while_the_buffer_lasts(
    broker: KafkaBroker, topic_prefix: str, topic: str, tmp_path: Path, how: str
) -> None:
    with capture(broker, tmp_path, topic_prefix, "--realtime") as process:
        wait_for(process, "running")
        time.sleep(1.0)
        getattr(broker, how)()
        wait_for(process, "frames wait in a buffer")
        broker.start()
        wait_for(process, "the broker answers again; frames without image so far: 0")
        process.terminate()
        end(process)
    (frames,) = read_frames(broker.bootstrap, topic).values()
    assert unbroken(frames.seqs)
    assert FULL not in frames.causes


def test_beyond_the_buffer_images_go_and_the_sequence_stays(
    broker: KafkaBroker, topic_prefix: str, topic: str, tmp_path: Path
) -> None:
    with capture(broker, tmp_path, topic_prefix, "--realtime", "--buffer-mb", "1") as process:
        wait_for(process, "running")
        time.sleep(1.0)
        broker.stop()
        wait_for(process, "the oldest lose their images")
        broker.start()
        wait_for(process, "the broker answers again")
        process.terminate()
        assert "went without image (capture_buffer_full)" in end(process)
    (frames,) = read_frames(broker.bootstrap, topic).values()
    assert unbroken(frames.seqs)
    assert {None, FULL} <= set(frames.causes) <= {None, FULL, OVERRUN}
    assert all(bool(image) == (cause is None) for image, cause in zip(frames.images, frames.causes, strict=True))


def test_a_file_waits_instead_of_losing_images(
    broker: KafkaBroker, topic_prefix: str, topic: str, tmp_path: Path
) -> None:
    with capture(broker, tmp_path, topic_prefix, "--buffer-mb", "1", "--loop", "--limit", "400") as process:
        wait_for(process, "running")
        broker.kill()
        wait_for(process, "frames wait in a buffer")
        broker.start()
        end(process)
    (frames,) = read_frames(broker.bootstrap, topic).values()
    assert unbroken(frames.seqs)
    assert max(frames.seqs) == 399
    assert set(frames.causes) == {None}


def test_a_broker_that_is_down_at_the_start_is_waited_for(
    broker: KafkaBroker, topic_prefix: str, topic: str, tmp_path: Path
) -> None:
    broker.stop()
    with capture(broker, tmp_path, topic_prefix, "--limit", "10") as process:
        wait_for(process, "no broker answers")
        broker.start()
        end(process)
    (frames,) = read_frames(broker.bootstrap, topic).values()
    assert frames.seqs == list(range(10))


def test_what_cannot_be_delivered_is_counted_and_fails(broker: KafkaBroker, topic_prefix: str, tmp_path: Path) -> None:
    with capture(broker, tmp_path, topic_prefix, "--realtime", "--loop") as process:
        wait_for(process, "running")
        broker.kill()
        wait_for(process, "frames wait in a buffer")
        process.terminate()
        _, errors = process.communicate(timeout=180)
    assert process.returncode == 1
    assert "frames could not be delivered to kafka://127.0.0.1" in errors.splitlines()[-1]


def test_watch_goes_on_when_the_broker_is_back(broker: KafkaBroker, topic_prefix: str) -> None:
    results = f"{topic_prefix}results.v1"
    create_topic(broker.bootstrap, results)
    send(broker.bootstrap, results, [(b"gate", a_result("gate", 0))])
    options = ("--json", "--from-beginning", "--limit", 2, "--timeout", 300)
    with running_sluice("watch", "--broker", broker.bootstrap, "--prefix", topic_prefix, *options) as process:
        assert process.stdout is not None
        assert '"seq":0' in process.stdout.readline()
        broker.stop()
        broker.start()
        send(broker.bootstrap, results, [(b"gate", a_result("gate", 1))])
        out, errors = process.communicate(timeout=330)
    assert '"seq":1' in out, errors
    assert process.returncode == 0
