"""A query that names no model, in a fleet: the scheduler says which variant backends serve, and they serve it."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from operators.wire.schema import FleetPlacement, ProcessLoad, from_json
from tests.integration.backend_process import backend_process
from tests.integration.camera import Camera
from tests.pipelines.assembly.test_model_less import LARGE, SMALL, measured
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker
from tests.real.process import Sluice, until
from tests.real.topic import Topics

pytestmark = pytest.mark.kafka

QUERY = """\
version: 1
name: free
slo_ms: 3000
learning: {budget: "100%"}
backends: {pair: {url: URLS}}
streams: [{id: s, uri: "rtsp://camera/1"}]
nodes:
  - name: type
    task: recognise
    input: frame
    answer: look
    specialize: false
    caches: false
    model: {task: vehicle-type, accuracy: 0.9, backend: pair}
"""


def test_the_variant_that_needs_fewer_backends_is_placed_and_served(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their profiles the reference needs four backends for this stream, and its variant one."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("SLUICE_CACHE", str(cache))
    measured(LARGE, 0.4, 1.0, eight=8.0)
    measured(SMALL, 0.02, 0.99)
    options = ("--broker", f"kafka://{kafka_broker.bootstrap}", "--prefix", topic_prefix)
    assert sluice("topics", "create", *options).returncode == 0

    with ExitStack() as running:

        def start(*arguments: object) -> Sluice:
            folder = tmp_path / str(arguments[0])
            return running.enter_context(Sluice(folder, *arguments, *options, SLUICE_CACHE=cache))

        topics = running.enter_context(Topics(kafka_broker.bootstrap, topic_prefix))
        backends = [
            running.enter_context(backend_process(tmp_path / name, *options, "--name", name, SLUICE_CACHE=cache))
            for name in ("a", "b")
        ]
        path = tmp_path / "query.yaml"
        path.write_text(QUERY.replace("URLS", json.dumps([f"grpc://{each.grpc}" for each in backends])))
        scheduler = start("schedule", "--every", 5, "--listen", "127.0.0.1:0")
        worker = start("worker", path)
        camera = Camera(kafka_broker.bootstrap, f"{topic_prefix}frames.v1")
        camera.start()
        running.callback(camera.stopped.set)

        def plans() -> list[FleetPlacement]:
            return [from_json(each.value, FleetPlacement) for each in topics.messages("placement")]

        alive = scheduler, worker, *(each.command for each in backends)
        until(lambda: any(models(plan) == {SMALL} for plan in plans()), "a placement of the variant", *alive)
        until(lambda: obeyed(topics), "a backend that serves it", *alive)
        until(lambda: answered(topics)[-20:].count(SMALL) == 20, "a worker that has changed over to it", *alive)
        camera.stopped.set()
        camera.join()
        until(lambda: topics.count("results") >= camera.sent, "all results", *alive)
        assert worker.terminate() == 0

        (wanted,) = next(plan.wanted for plan in plans() if models(plan) == {SMALL})
        assert wanted.wanted == 1, "one is enough"
        assert models(plans()[-1]) == {SMALL}, "also while the worker asks the reference, until its variant is proven"
        assert answered(topics)[0] == LARGE, "it is not asked before it is proven"
        analysed = [each for each in topics.results() if each.outcome == "analysed" and each.objects]
        last = [each.objects[0].attributes[0] for each in analysed[-20:]]
        assert {(each.model.backend, each.provenance) for each in last if each.model} == {("pair", "variant")}
        whys = {each.plan.nodes["type"].why for each in analysed[-20:] if each.plan.nodes}
        assert all(f"{LARGE} on pair is placed nowhere" in why for why in whys), whys
        outcomes = Counter(each.seq for each in topics.results())
        assert (len(outcomes), set(outcomes.values())) == (camera.sent, {1})
        loads = [from_json(each.value, ProcessLoad) for each in topics.messages("load")]
        told = {session.model: session.instead for each in loads if each.kind == "worker" for session in each.sessions}
        assert told[LARGE] == [SMALL]


def answered(topics: Topics) -> list[str]:
    """The models that answered, in the order of frames."""
    found = sorted(topics.results(), key=lambda result: result.seq)
    answers = [each.objects[0].attributes[0].model for each in found if each.outcome == "analysed" and each.objects]
    return [f"{each.name}@{each.variant}" if each.variant else each.name for each in answers if each is not None]


def obeyed(topics: Topics) -> bool:
    """Whether a backend to which a placement gives the variant has it ready, and says that it obeys."""
    plans = [from_json(each.value, FleetPlacement) for each in topics.messages("placement")]
    given = {
        (plan.epoch, each.id) for plan in plans if models(plan) == {SMALL} for each in plan.backends if each.sessions
    }
    loads = [from_json(each.value, ProcessLoad) for each in topics.messages("load")]
    return any((each.epoch, each.id) in given and SMALL in each.ready for each in loads)


def models(plan: FleetPlacement) -> set[str]:
    return {session.model for backend in plan.backends for session in backend.sessions}
