"""``--give-up``: a camera that refuses or never comes ends its stream, and the command says so."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kafka_side import read_all, write_query
from tests.operators.capture.clips import make_clip
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.ports import free_port
from tests.real.rtsp import MakeServer

SECONDS = 1.0


@pytest.fixture
def nobody() -> str:
    """An address where nothing listens."""
    return f"rtsp://127.0.0.1:{free_port()}/camera"


@pytest.fixture
def mute() -> Iterator[str]:
    """Accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"rtsp://127.0.0.1:{server.getsockname()[1]}/camera"


def run(folder: Path, *sources: str) -> tuple[int, str, dict[str, object]]:
    report = folder / "report.json"
    named = [word for source in sources for word in ("--source", source)]
    done = sluice("run", write_query(folder), *named, "--give-up", SECONDS, "--report", report)
    return done.returncode, done.stderr + done.stdout, json.loads(report.read_text())


def test_a_camera_that_is_not_there(nobody: str, tmp_path: Path) -> None:
    status, said, report = run(tmp_path, nobody)
    assert status == 2
    assert "connection refused" in said
    assert "given up after 1 s without a frame" in said
    (failure,) = report["failed_streams"].values()  # type: ignore[attr-defined]
    assert failure["reason"] == "refused"


def test_a_camera_that_says_nothing(mute: str, tmp_path: Path) -> None:
    status, said, report = run(tmp_path, mute)
    assert status == 2
    assert "given up after 1 s without a frame" in said
    (failure,) = report["failed_streams"].values()  # type: ignore[attr-defined]
    assert failure["reason"] == "timeout"


def test_the_other_streams_go_on(nobody: str, tmp_path: Path) -> None:
    status, said, report = run(tmp_path, nobody, "synthetic:street?seed=1&duration_s=1")
    assert status == 2
    assert report["frames"]["analysed"] > 0  # type: ignore[index]
    assert len(report["failed_streams"]) == 1  # type: ignore[arg-type]
    assert "failed (refused)" in said


@pytest.mark.rtsp
def test_a_camera_that_refuses_the_password(rtsp_server: MakeServer, tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=24, fps=12)
    camera = rtsp_server(clip, user="cam", password="right")
    status, said, report = run(tmp_path, camera.uri.replace("right", "wr0ng-guess"))
    assert status == 2
    assert "401" in said
    assert "wr0ng-guess" not in said + json.dumps(report)


@pytest.mark.kafka
def test_capture_gives_up_too(
    kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str, nobody: str, tmp_path: Path
) -> None:
    where = ("--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)
    done = sluice("capture", write_query(tmp_path), "--source", nobody, "--give-up", SECONDS, *where)
    assert done.returncode == 2
    assert "given up after 1 s without a frame" in done.stderr.splitlines()[-1]
    states = [json.loads(record.value) for record in read_all(kafka_broker.bootstrap, f"{topic_prefix}streams.v1")]
    assert (states[-1]["state"], states[-1]["reason"]) == ("failed", "refused")
