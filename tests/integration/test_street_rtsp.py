"""The whole way: a camera, a public detector, our recogniser, real Kafka, and a consumer that knows nothing of us."""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from tests.real.http_files import serve_files
from tests.real.kafka import KafkaBroker
from tests.real.process import WAIT_S, Sluice, until
from tests.real.require import unavailable
from tests.real.rtsp import MakeServer

pytestmark = [pytest.mark.kafka, pytest.mark.rtsp, pytest.mark.data]

QUERY = Path(__file__).resolve().parents[2] / "examples" / "street.yaml"


@pytest.fixture
def models(data_dir: Path, tmp_path: Path) -> Path:
    """A directory with YOLOX-nano, pulled from a mirror on this machine."""
    weights = (data_dir / "weights" / "yolox_nano.onnx").read_bytes()
    with serve_files({"/yolox_nano.onnx": weights}) as mirror:
        where = ("--mirror", mirror.url, "--into", tmp_path / "models")
        pull = Sluice(tmp_path / "pull", "models", "pull", "yolox-nano", *where)
        assert pull.wait() == 0, pull.errors
    return tmp_path / "models"


def test_persons_and_cars_reach_kcat(
    kafka_broker: KafkaBroker,
    topic_prefix: str,
    rtsp_server: MakeServer,
    models: Path,
    data_dir: Path,
    tmp_path: Path,
) -> None:
    if which("kcat") is None:
        unavailable("kcat", "no `kcat` on the PATH", "apt-get install kcat")
    camera = rtsp_server(data_dir / "videos" / "person-bicycle-car-detection.mp4")
    source, prefix = ("--source", camera.uri), ("--prefix", topic_prefix)
    broker, topic = kafka_broker.bootstrap, f"{topic_prefix}results.v1"
    with (
        Sluice(tmp_path / "capture", "capture", QUERY, *source, *prefix, broker=broker) as capture,
        Sluice(tmp_path / "worker", "worker", QUERY, "--models", models, *prefix, broker=broker) as worker,
    ):
        until(lambda: "running" in capture.errors, "the camera", capture, worker)
        # A slow machine drops frames of a camera, so how many it takes to see both is not known.
        with subprocess.Popen(kcat(broker, topic), stdout=subprocess.PIPE, text=True) as reader:
            killer = threading.Timer(WAIT_S, reader.kill)
            killer.start()
            assert reader.stdout is not None
            seen: list[dict[str, Any]] = []
            while not enough(seen) and (line := reader.stdout.readline()):
                seen.append(json.loads(line))
            killer.cancel()
            reader.kill()
        assert capture.terminate() == 0, capture.errors
        assert worker.terminate() == 0, worker.errors

    printed = subprocess.run(kcat(broker, topic, "-e"), capture_output=True, text=True, timeout=180, check=True).stdout
    results = [json.loads(line) for line in printed.splitlines()]
    assert {result["schema"] for result in results} == {"sluice.result/1"}
    assert [result["seq"] for result in results] == list(range(len(results)))
    assert {result["outcome"] for result in results} <= {"analysed", "dropped"}
    labels = detected(results)
    assert {"person", "car"} <= set(labels) <= {"person", "bicycle", "motorcycle", "car", "bus", "truck"}, labels
    assert tracked(results)
    typed = attributes(results)
    assert {attribute["name"] for attribute in typed} == {"vehicle_type"}
    assert {attribute["model"]["name"] for attribute in typed} == {"vehicle-type"}


def kcat(bootstrap: str, topic: str, *more: str) -> list[str]:
    """Reads a topic from its beginning; one line for each message."""
    return ["kcat", "-b", bootstrap, "-t", topic, "-C", "-q", "-u", "-o", "beginning", *more]


def enough(results: list[dict[str, Any]]) -> bool:
    """Whether they have each of what is looked for."""
    return {"person", "car"} <= set(detected(results)) and tracked(results) and bool(attributes(results))


def tracked(results: list[dict[str, Any]]) -> bool:
    return any(thing["track_id"] is not None for result in results for thing in result["objects"])


def attributes(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [attribute for result in results for thing in result["objects"] for attribute in thing["attributes"]]


def detected(results: list[dict[str, Any]]) -> Counter[str]:
    """How often the detector said what."""
    return Counter(thing["detection"]["label"] for result in results for thing in result["objects"])
