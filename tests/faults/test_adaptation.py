"""An adaptation worker that is killed, and what anybody may write to its topics, on a real broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from kafka import KafkaProducer

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.updates import Update
from cache_adapt.adaptation.versions import LARGEST_BYTES
from cache_adapt.adaptation.window import HELD_SHARE, Sample
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.rows import FOLDS, ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from operators.wire.adaptation import SAMPLES_HEADER_KEY, UPDATE_HEADER_KEY
from pipelines.assembly.node_words import NodeWords
from pipelines.environment import catalogue
from pipelines.kafka.topics import TopicsConfig
from pipelines.settings import BrokerSettings
from pipelines.worker.adapt.link import linked
from pipelines.worker.adapt.messages import SampleBatch, samples_letter, update_key, wish_letter
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker
from tests.real.process import Sluice, until
from tests.real.topic import Topics

pytestmark = pytest.mark.kafka

QUERY = """\
version: 1
name: street
slo_ms: 1000
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: type, task: recognise, input: detect, model: vehicle-type, specialize: true}
"""
CUTS = (ExitCut("early", (16, 1, 1), 0.3), ExitCut("late", (16, 1, 1), 0.8))
RECENT = 200
CARD = catalogue([]).find("vehicle-type").card
WORDS = NodeWords.of_classes(CARD, None)


@dataclass
class Place:
    """Topics, a query for them, and a worker's view of it."""

    bootstrap: str
    prefix: str
    folder: Path

    def __post_init__(self) -> None:
        self.settings, self.topics = BrokerSettings((self.bootstrap,)), TopicsConfig(prefix=self.prefix)
        self.query = self.folder / "query.yaml"
        self.query.write_text(QUERY)
        self.subject = Subject("type", "vehicle-type", CARD.identity, WORDS.digest)
        self.target = self.exits(0.9)

    def exits(self, agreement: float) -> Target:
        return Target(self.subject, spec(agreement))

    @contextmanager
    def adapting(self) -> Iterator[Sluice]:
        arguments = ("adapt", self.query, "--prefix", self.prefix, "--alive", self.folder / "alive")
        with Sluice(self.folder / "adapt", *arguments, broker=self.bootstrap) as process:
            yield process

    def send(self, kind: str, key: bytes | None, value: bytes | None, *headers: tuple[str, bytes]) -> None:
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, max_request_size=4 << 20)
        try:
            producer.send(f"{self.prefix}{kind}.v1", value, key, headers=list(headers)).get(180)
        finally:
            producer.close()

    async def wished(self, target: Target, *processes: Sluice, samples: bool = True) -> Update:
        """What a worker gets that sends samples and wants this."""
        known = seen()
        packed = spec().layout.packed(known)
        async with linked("street", self.settings, self.topics, 30) as link:
            if samples:
                link.offer(self.subject, "gate", known.words.tolist(), packed)
            link.want(target, "gate")
            async with asyncio.timeout(180):
                while (update := link.newest(target)) is None:
                    assert all(each.process.poll() is None for each in processes), processes[0].errors
                    await asyncio.sleep(0.1)
            return update


def spec(agreement: float = 0.9) -> ExitsSpec:
    return ExitsSpec(CUTS, WORDS.vocabulary, agreement)


def seen() -> ExitRows:
    """Looks at four kinds of vehicles, whose taps tell them apart."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, RECENT)
    shares = np.full((RECENT, WORDS.vocabulary.labels), 0.01, np.float32)
    shares[np.arange(RECENT), labels] = 0.9
    taps = [(4 * np.eye(16)[labels] + rng.normal(0, 0.3, (RECENT, 16))).astype(np.float32) for _ in CUTS]
    return ExitRows(taps, shares, WORDS.vocabulary.of(shares), np.ones(RECENT, np.float32), np.arange(RECENT) % FOLDS)


def trained_on() -> int:
    """How many of them are not held back."""
    return int(sum(count - int(count * HELD_SHARE) for count in np.bincount(seen().words)))


def is_wanted(update: Update) -> bool:
    """Whether these are exits for the cuts that were wanted."""
    return spec().why_unfit(ExitArtefact.from_bytes(update.data).card, CARD.identity) is None


def count_of_wishes(topics: Topics) -> int:
    """How many wishes have been written to the topic that samples and wishes share."""
    return sum(SAMPLES_HEADER_KEY not in message.headers for message in topics.messages("samples"))


@pytest.fixture
def place(kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path) -> Place:
    made = sluice("topics", "create", "--broker", kafka_broker.bootstrap, "--prefix", topic_prefix)
    assert made.returncode == 0, made.stderr
    return Place(kafka_broker.bootstrap, topic_prefix, tmp_path)


async def test_killed_about_a_training_it_goes_on_and_nothing_is_trained_twice(place: Place) -> None:
    with place.adapting() as first, Topics(place.bootstrap, place.prefix) as topics:
        waiting = asyncio.create_task(place.wished(place.target))
        await asyncio.to_thread(until, lambda: count_of_wishes(topics), "a wish", first)
        first.kill()
    with place.adapting() as second, Topics(place.bootstrap, place.prefix) as topics:
        update = await waiting
        assert is_wanted(update)
        again = await place.wished(place.target, second, samples=False)
        assert again == update, "a worker that begins anew gets what is there"
        assert topics.count("updates") == 1
        other, wishes = place.exits(0.8), count_of_wishes(topics)
        gone = asyncio.create_task(place.wished(other, samples=False))  # of a worker that is gone before they are there
        await asyncio.to_thread(until, lambda: count_of_wishes(topics) > wishes, "a wish", second)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await asyncio.to_thread(until, lambda: topics.count("updates") == 2, "its exits", second)
        assert is_wanted(await place.wished(other, second, samples=False))
        healthy = await asyncio.to_thread(sluice, "health", place.folder / "alive")
        assert healthy.returncode == 0, healthy.stdout + healthy.stderr
        assert await asyncio.to_thread(second.terminate) == 0, second.errors
    said = f"node type, exits (wanted): version {update.version} from {trained_on()} recent samples"
    assert (first.errors + second.errors).count(said) <= 1, "by one of them, if it could say so"


async def test_whatever_is_written_to_its_topics_is_told_once_and_changes_nothing(place: Place) -> None:
    good = SampleBatch("street", place.subject, "gate", [Sample(0.0, 1, np.zeros(88, np.float16))] * 3)
    for letter in (
        samples_letter(replace(good, query="another"), 1e9),
        samples_letter(replace(good, subject=replace(place.subject, node="nowhere")), 1e9),
        samples_letter(replace(good, subject=replace(place.subject, network_identity="0" * 64)), 1e9),
        samples_letter(replace(good, subject=replace(place.subject, labels="0" * 64)), 1e9),
    ):
        place.send("samples", letter.key, letter.value, *letter.headers)
    wish = wish_letter("street", place.target, "gate", 1e9)
    for wrong in ({"kind": "virus"}, {"spec": {"cuts": [-1]}}):
        place.send("samples", wish.key, json.dumps(json.loads(wish.value) | wrong).encode())
    (sound,) = samples_letter(good, 1e9).headers
    for value in (b"", b"\xff" * 527, b"\xff" * 528, bytes(1 << 20), None):
        place.send("samples", b"gate", value, sound)
    for header in (b"", b"{}", b"[" * 5000, sound[1][:-5], sound[1].replace(b"88", b"-1"), b"\xff" * (40 << 10)):
        place.send("samples", b"gate", bytes(528), (SAMPLES_HEADER_KEY, header))
    key = update_key("street", place.target.key)
    for value in (b"", b"garbage", bytes(LARGEST_BYTES + 1), None):
        place.send("updates", key, value, (UPDATE_HEADER_KEY, b"{}"))
        place.send("updates", key, value)
    with place.adapting() as process:
        update = await place.wished(place.target, process)
        assert await asyncio.to_thread(process.terminate) == 0, process.errors
    assert is_wanted(update)
    said = [line for line in process.errors.splitlines() if "passed over" in line]
    assert 2 <= len(said) <= 4, said  # the 1st and the 10th of either kind
    assert f"version {update.version} from {trained_on()} recent samples" in process.errors
    assert "Traceback" not in process.errors


async def test_a_broker_that_is_killed_and_comes_back_is_waited_for(
    own_kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    made = await asyncio.to_thread(sluice, "topics", "create", "--broker", own_kafka_broker.bootstrap)
    assert made.returncode == 0, made.stderr
    place = Place(own_kafka_broker.bootstrap, "sluice.", tmp_path)
    with place.adapting() as process:
        await asyncio.to_thread(until, lambda: "adapting street" in process.errors, "the worker to begin", process)
        waiting = asyncio.create_task(place.wished(place.target, process))
        with Topics(place.bootstrap, place.prefix) as topics:
            await asyncio.to_thread(until, lambda: count_of_wishes(topics), "a wish", process)
        await asyncio.to_thread(own_kafka_broker.kill)
        await asyncio.to_thread(until, lambda: "does not answer" in process.errors, "word of the death", process)
        await asyncio.to_thread(own_kafka_broker.start)
        assert is_wanted(await waiting)
        assert is_wanted(await place.wished(place.exits(0.8), process, samples=False))
        assert await asyncio.to_thread(process.terminate) == 0, process.errors
    assert "the broker answers again" in process.errors
    assert len(process.errors.splitlines()) <= 20, "some lines for each time it stays away, not for each attempt"
