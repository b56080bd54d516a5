"""Two schedulers, two backends and a worker on a real broker: the leader is killed, then the backend that serves."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import msgspec
import pytest
from kafka import KafkaProducer

from operators.wire.bounds import LARGEST_SEQ
from operators.wire.schema import FleetPlacement, ProcessLoad, from_json, to_json
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.tasks import meanwhile
from pipelines.schedule.epochs import EpochTerms
from pipelines.schedule.service import ScheduleConfig, SchedulerService
from pipelines.settings import broker_settings
from tests.integration.backend_process import BackendProcess, backend_process
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker
from tests.real.process import Sluice, until
from tests.real.topic import Topics

pytestmark = pytest.mark.kafka

FRAMES, STREAMS, FPS = 240, 2, 4
MODEL = "vehicle-type-compact"
QUERY = """\
version: 1
name: placed
slo_ms: 60000
backends: {pair: {url: URLS}}
streams: [STREAMS]
nodes:
  - {name: type, task: recognise, input: frame, model: MODEL on pair, answer: look, specialize: false, caches: false}
publish: {topics: {frames: {partitions: 2}}}
"""
STREAM = '{{id: s{0}, uri: "synthetic:street?seed={0}&duration_s={1}&fps={2}&width=320&height=180"}}'
HOSTILE = [b"", b"{}", b"[" * 10_000, b"\xff" * 100, b'{"schema": "sluice.load/1"}' + b" " * 300_000]


class Fleet:
    """The processes, and what they say on the broker."""

    def __init__(self, folder: Path, broker: str, prefix: str, running: ExitStack) -> None:
        self._folder, self.broker, self.prefix, self._running = folder, broker, prefix, running
        self.topics = running.enter_context(Topics(broker, prefix))
        self.schedulers = [self.start(f"schedule{n}", "schedule", *SCHEDULE) for n in range(2)]
        options = ("--broker", f"kafka://{broker}", "--prefix", prefix)
        self.backends = [
            running.enter_context(backend_process(folder / name, *options, "--name", name)) for name in ("a", "b")
        ]

    def start(self, name: str, *arguments: object) -> Sluice:
        command, *rest = arguments
        home = self._folder / name
        return self._running.enter_context(Sluice(home, command, *rest, "--prefix", self.prefix, broker=self.broker))

    def query(self) -> Path:
        urls = json.dumps([f"grpc://{each.grpc}" for each in self.backends])
        streams = ", ".join(STREAM.format(number, FRAMES / STREAMS / FPS, FPS) for number in range(STREAMS))
        text = QUERY.replace("URLS", urls).replace("STREAMS", streams).replace("MODEL", MODEL)
        path = self._folder / "query.yaml"
        path.write_text(text)
        return path

    @property
    def placements(self) -> list[FleetPlacement]:
        found = [from_json(each.value, FleetPlacement) for each in self.topics.messages("placement")]
        return [each for each in found if each.epoch != LARGEST_SEQ]  # which nobody heeds

    def until(self, condition: Callable[[FleetPlacement], bool], what: str) -> FleetPlacement:
        def holds() -> bool:
            found = self.placements
            return bool(found) and condition(found[-1])

        alive = [each for each in self.schedulers if each.process.poll() is None]
        until(holds, what, *alive)
        return self.placements[-1]

    def serving(self, placement: FleetPlacement) -> BackendProcess:
        """The backend that serves the most."""
        rates = {each.name: sum(session.rate for session in each.sessions) for each in placement.backends}
        return self.backends["ab".index(max(rates, key=lambda name: rates[name]))]


SCHEDULE = ("--every", 5, "--listen", "127.0.0.1:0")


def leader(*schedulers: Sluice) -> Sluice | None:
    """The one that the group's partition was given last."""
    said = {each: [line for line in each.errors.splitlines() if "this scheduler" in line] for each in schedulers}
    leading = [each for each, lines in said.items() if lines and lines[-1].endswith("this scheduler leads")]
    return leading[0] if len(leading) == 1 else None


def numbers(scheduler: Sluice, path: str) -> dict[str, object]:
    at = re.search(r"at (http://\S+)/", scheduler.errors)
    assert at
    with urlopen(f"{at[1]}{path}", timeout=10) as answer:
        found: dict[str, object] = json.load(answer)
    return found


def hostile_messages(fleet: Fleet) -> None:
    """What no process of ours sends; one speaks for another, and a placement has the highest number of all."""
    (*_, load) = fleet.topics.messages("load")
    (*_, placement) = fleet.topics.messages("placement")
    last = msgspec.structs.replace(from_json(placement.value, FleetPlacement), epoch=LARGEST_SEQ, backends=[])
    producer = KafkaProducer(bootstrap_servers=fleet.broker)
    try:
        for number in range(200):
            producer.send(f"{fleet.prefix}load.v1", HOSTILE[number % len(HOSTILE)], b"stranger")
        producer.send(f"{fleet.prefix}load.v1", load.value.replace(b'"leaving":false', b'"leaving":true'), b"stranger")
        producer.send(f"{fleet.prefix}placement.v1", to_json(last), b"stranger")
    finally:
        producer.close()


def test_placements_go_on_whoever_is_killed(kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path) -> None:
    with ExitStack() as running:
        made = sluice("topics", "create", "--prefix", topic_prefix, "--broker", f"kafka://{kafka_broker.bootstrap}")
        assert made.returncode == 0, made.stderr
        fleet = Fleet(tmp_path, kafka_broker.bootstrap, topic_prefix, running)
        query = fleet.query()
        worker = fleet.start("worker", "worker", query)
        capture = fleet.start("capture", "capture", query)
        first = fleet.until(lambda found: any(each.sessions for each in found.backends), "a placement")
        assert {session.model for each in first.backends for session in each.sessions} == {MODEL}
        assert [(each.device, each.running) for each in first.wanted] == [("cpu", 2)]
        assert first.wanted[0].wanted >= 1

        hostile_messages(fleet)
        until(lambda: leader(*fleet.schedulers) is not None, "a leader", *fleet.schedulers)
        leading = leader(*fleet.schedulers)
        assert leading is not None
        (other,) = (each for each in fleet.schedulers if each is not leading)
        after = fleet.until(lambda found: found.epoch > first.epoch, "an epoch after what was hostile")
        assert [each.name for each in after.backends] == [each.name for each in first.backends]
        leading.kill()
        second = fleet.until(lambda found: found.leader != first.leader, "another leader")
        assert "this scheduler leads" in other.errors
        assert numbers(other, "/wanted/backends?kind=cpu")["running"] == 2
        assert numbers(other, "/wanted/workers")["value"] in (1, 2)  # two where a hundred frames wait

        serving = fleet.serving(second)
        serving.command.kill()
        third = fleet.until(
            lambda found: len(found.backends) == 1 and bool(found.backends[0].sessions), "a placement without it"
        )
        assert fleet.serving(third) is not serving
        assert third.wanted[0].running == 1
        until(lambda: fleet.topics.count("results") >= FRAMES, "all results", worker)
        assert (capture.wait(), worker.terminate()) == (0, 0)

        outcomes = Counter((each.stream, each.seq) for each in fleet.topics.results())
        assert (len(outcomes), set(outcomes.values())) == (FRAMES, {1})
        assert {each.outcome for each in fleet.topics.results()} == {"analysed"}
        epochs = [each.epoch for each in fleet.placements]
        assert all(before < later for before, later in pairwise(epochs))
        loads = [each for each in fleet.topics.messages("load") if each.key != "stranger"]
        told = [from_json(each.value, ProcessLoad) for each in loads]
        assert {each.kind for each in told} == {"worker", "backend"}
        assert all(any(each.busy > 0 for each in told if each.kind == kind) for kind in ("worker", "backend"))
        urls = {each.url for each in told if each.kind == "backend"}
        assert urls >= {f"grpc://{each.grpc}" for each in fleet.backends}
        assert any(each.leaving for each in told if each.kind == "worker")
        assert max(each.epoch for each in told) >= third.epoch - 1
        assert "a message is passed over" in other.errors


def test_a_leader_that_stood_still_sends_nothing_until_it_is_elected_anew(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    with ExitStack() as running:
        made = sluice("topics", "create", "--prefix", topic_prefix, "--broker", f"kafka://{kafka_broker.bootstrap}")
        assert made.returncode == 0, made.stderr
        options = ("schedule", "--every", 3, "--listen", "127.0.0.1:0", "--prefix", topic_prefix)
        two = [running.enter_context(Sluice(tmp_path / name, *options, broker=kafka_broker.bootstrap)) for name in "ab"]
        topics = running.enter_context(Topics(kafka_broker.bootstrap, topic_prefix))

        def leaders() -> list[str]:
            return [from_json(each.value, FleetPlacement).leader for each in topics.messages("placement")]

        until(lambda: len(leaders()) >= 2 and leader(*two) is not None, "placements", *two)
        first = leader(*two)
        assert first is not None
        first.process.send_signal(signal.SIGSTOP)
        name = leaders()[-1]
        until(lambda: leaders()[-1] != name, "another leader", *(each for each in two if each is not first))
        count = len(leaders())
        first.process.send_signal(signal.SIGCONT)
        until(lambda: len(leaders()) >= count + 3, "further placements", *two)
        epochs = [from_json(each.value, FleetPlacement).epoch for each in topics.messages("placement")]
        assert all(before < later for before, later in pairwise(epochs))  # nothing was sent that is passed over


async def test_a_scheduler_knows_how_many_workers_have_something_to_do(
    kafka_broker: KafkaBroker, topic_prefix: str
) -> None:
    bootstrap = kafka_broker.bootstrap
    options = ("--prefix", topic_prefix, "--broker", f"kafka://{bootstrap}")
    made = await asyncio.to_thread(sluice, "topics", "create", *options)
    assert made.returncode == 0, made.stderr
    topics, settings = TopicsConfig().with_prefix(topic_prefix), broker_settings(f"kafka://{bootstrap}")
    service = SchedulerService(ScheduleConfig(settings, topics, EpochTerms()))
    async with asyncio.timeout(120), meanwhile(service.run()):
        while not (service.leads and service._partitions):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.1)
        assert service._partitions == TopicsConfig().frames.partitions
