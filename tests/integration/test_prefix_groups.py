"""Two networks that begin alike, at two backends with memory for one: placed as one session, run as one batch."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from operators.wire.schema import FleetPlacement, ProcessLoad, from_json
from tests.integration.backend_process import backend_process
from tests.integration.camera import Camera
from tests.models import relatives
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker
from tests.real.process import Sluice, until
from tests.real.topic import Topics

pytestmark = pytest.mark.kafka

NAMES = ("first", "other")
MEMORY = "14MiB"
"""Either takes some 10 MiB; with their common part once, both take hardly more."""
QUERY = """\
version: 1
name: NAME
slo_ms: 3000
backends: {pair: {url: URLS}}
streams: [{id: NAME, uri: "rtsp://camera/NAME"}]
nodes:
  - {name: look, task: recognise, input: frame, model: NAME on pair, answer: look, specialize: false, caches: false}
"""


def test_networks_that_begin_alike_come_together_and_run_as_one(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    relatives(models, NAMES, of="vehicle-type")
    options = ("--broker", f"kafka://{kafka_broker.bootstrap}", "--prefix", topic_prefix)
    assert sluice("topics", "create", *options).returncode == 0
    known = ("--models", models)

    with ExitStack() as running:

        def start(*arguments: object) -> Sluice:
            return running.enter_context(Sluice(tmp_path / str(arguments[0]), *arguments, *options))

        topics = running.enter_context(Topics(kafka_broker.bootstrap, topic_prefix))
        backends = {
            name: running.enter_context(
                backend_process(tmp_path / name, *options, *known, "--name", name, SLUICE_MODEL_MEMORY=MEMORY)
            )
            for name in "ab"
        }
        urls = json.dumps([f"grpc://{each.grpc}" for each in backends.values()])
        paths = [tmp_path / f"{name}.yaml" for name in NAMES]
        for name, path in zip(NAMES, paths, strict=True):
            path.write_text(QUERY.replace("NAME", name).replace("URLS", urls))
        scheduler = start("schedule", "--every", 5, "--listen", "127.0.0.1:0")
        worker = start("worker", *paths, *known, "--group", "both")
        cameras = [Camera(kafka_broker.bootstrap, f"{topic_prefix}frames.v1", name) for name in NAMES]
        for camera in cameras:
            running.callback(camera.stopped.set)
            camera.start()
        alive = scheduler, worker, *(each.command for each in backends.values())
        until(lambda: together(topics) is not None, "both networks ready at the one backend that serves", *alive)
        http = backends[together(topics) or ""].http
        before = batches(http)
        until(lambda: batches(http) > before + 10, "batches of both as one", *alive)
        for camera in cameras:
            camera.stopped.set()
            camera.join()
        sent = sum(camera.sent for camera in cameras)
        until(lambda: topics.count("results") >= sent, "all results", *alive)
        assert worker.terminate() == 0

        outcomes = Counter((each.query, each.stream, each.seq) for each in topics.results())
        assert (len(outcomes), set(outcomes.values())) == (sent, {1})
        told = [load for each in topics.messages("load") if (load := from_json(each.value, ProcessLoad)).profiles]
        prefixes = {tuple(p.digest for p in model.prefixes) for load in told for model in load.profiles}
        assert len(prefixes - {()}) == 1


def together(topics: Topics) -> str | None:
    """The backend to which the last placement gives both networks, where it is the only one and has both ready."""
    plans = [from_json(each.value, FleetPlacement) for each in topics.messages("placement")]
    serving = [each for each in plans[-1].backends if each.sessions] if plans else []
    if len(serving) != 1 or {session.model for session in serving[0].sessions} != set(NAMES):
        return None
    loads = [from_json(each.value, ProcessLoad) for each in topics.messages("load")]
    last = [each for each in loads if each.id == serving[0].id][-1]
    return last.name if set(NAMES) <= {*last.ready} else None


def batches(http: str) -> float:
    """Those that ran for both networks at a backend."""
    with urlopen(f"http://{http}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.findall(r'sluice_network_batches_total{.*model="(?:first \+ other|other \+ first)".*} (\S+)', text)
    return sum(map(float, found))
