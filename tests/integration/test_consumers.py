"""Applications in Python that consume results and events, and the example of one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient
from msgspec.structs import replace

import sluice
from operators.wire.schema import Attribute, BoundingBox, Model, Object, Result, from_json, to_json
from pipelines.kafka import results as results_reader
from pipelines.kafka.results import AT_ONCE, MessageReader
from pipelines.settings import broker_settings
from tests.doc_pages import ROOT
from tests.integration.kafka_side import create_topic, send
from tests.integration.test_consume_results import a_truck
from tests.integration.test_watch import a_result
from tests.real.command import environment
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.process import until

pytestmark = pytest.mark.kafka

Broker = KafkaBroker | RemoteBroker


@pytest.fixture
def topic(kafka_broker: Broker, topic_prefix: str) -> str:
    create_topic(kafka_broker.bootstrap, f"{topic_prefix}results.v1")
    return f"{topic_prefix}results.v1"


def put(broker: Broker, topic: str, stream: str, *seqs: int) -> None:
    send(broker.bootstrap, topic, [(stream.encode(), a_result(stream, seq)) for seq in seqs])


def test_results_come_typed_each_once_and_those_of_other_streams_not(
    kafka_broker: Broker, topic: str, topic_prefix: str
) -> None:
    put(kafka_broker, topic, "yard", 0)
    put(kafka_broker, topic, "gate", 0, 1)
    send(kafka_broker.bootstrap, topic, [(b"gate", b"garbage")])
    put(kafka_broker, topic, "gate", 0, 1, 2)
    put(kafka_broker, topic, "g", 0)  # part of the other's name
    results = sluice.watch(kafka_broker.bootstrap, streams="gate", from_beginning=True, prefix=topic_prefix)
    found = list(islice(results, 3))
    assert [(type(each), each.stream, each.seq, each.image) for each in found] == [
        (sluice.Result, "gate", seq, None) for seq in range(3)
    ]


def test_a_group_goes_on_behind_what_was_done(kafka_broker: Broker, topic: str, topic_prefix: str) -> None:
    def watch() -> Iterator[sluice.Result]:
        return sluice.watch(kafka_broker.bootstrap, group=topic, from_beginning=True, prefix=topic_prefix)

    put(kafka_broker, topic, "gate", *range(5))
    for result in watch():
        if result.seq == 3:  # it is not done
            break
    assert next(watch()).seq == 3


BOX = BoundingBox(x_min=0.25, y_min=0.25, x_max=0.5, y_max=0.75)


def crossing(stream: str, seq: int) -> sluice.Event:
    return sluice.Event(
        type="cross",
        stream=stream,
        run="r1",
        seq=seq,
        track_id=7,
        label="car",
        confidence=0.9,
        media_time_s=seq / 10,
        first_media_time_s=0,
        last_media_time_s=seq / 10,
        bounding_box=BOX,
        line="gate",
        direction="left_to_right",
    )


def test_events_and_counts_come_typed_and_a_group_goes_on_behind_them(kafka_broker: Broker, topic_prefix: str) -> None:
    topic = f"{topic_prefix}events.v1"
    create_topic(kafka_broker.bootstrap, topic)
    count = sluice.Counts(
        stream="yard",
        run="r1",
        seq=5,
        captured_at=datetime.now(UTC),
        since_media_time_s=0,
        media_time_s=0.5,
        zones={"parking": {"car": 4}},
    )
    sent = [crossing("yard", 1), b"garbage", crossing("street", 2), b'{"type": "cross"}', count, crossing("yard", 6)]
    values = [each if isinstance(each, bytes) else to_json(each) for each in sent]
    send(kafka_broker.bootstrap, topic, [(b"yard", value) for value in values])

    def watch() -> Iterator[sluice.Event | sluice.Counts]:
        return sluice.watch_events(
            kafka_broker.bootstrap, streams=["yard"], group=topic, from_beginning=True, prefix=topic_prefix
        )

    found = watch()
    assert list(islice(found, 2)) == [sent[0], count]
    assert next(found) == sent[-1]
    found.close()  # type: ignore[attr-defined]
    assert next(watch()) == sent[-1], "it was not done"


def test_without_a_broker_it_says_where_it_was_sought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_BROKER", raising=False)
    with pytest.raises(sluice.BadInput, match="no broker given"):
        sluice.watch()
    with pytest.raises(sluice.BadInput, match="no broker given"):
        sluice.watch_events()


@pytest.mark.parametrize(("given", "said"), [({"group": ""}, "group: is empty"), ({"prefix": "a b"}, "--prefix 'a b'")])
def test_what_cannot_be_watched_is_said_when_it_is_asked_for(given: dict[str, str], said: str) -> None:
    with pytest.raises(sluice.BadInput, match=said):
        sluice.watch("kafka://127.0.0.1:1", **given)  # type: ignore[arg-type]
    with pytest.raises(sluice.BadInput, match=said):
        sluice.watch_events("kafka://127.0.0.1:1", **given)  # type: ignore[arg-type]


@contextmanager
def consumer(broker: Broker, prefix: str) -> Iterator[Iterator[str]]:
    """The lines of the example, while it runs."""
    command = [sys.executable, str(ROOT / "examples" / "consumer.py"), broker.bootstrap, prefix]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield iter(process.stdout)
        finally:
            process.terminate()


def vehicle(seq: int, track: int, kind: str, run: str = "r1") -> tuple[bytes, bytes]:
    result = replace(from_json(a_truck(seq), Result), run=run)
    model = Model(name="vehicle-type", version="1", tier="reference")
    answer = Attribute(name="vehicle_type", label=kind, confidence=0.9, provenance="oracle", model=model)
    (found,) = result.objects
    objects: list[Object] = [replace(found, track_id=track, attributes=[answer])]
    return b"gate", to_json(replace(result, objects=objects))


def test_the_example_counts_and_goes_on_where_it_was(kafka_broker: Broker, topic: str, topic_prefix: str) -> None:
    send(kafka_broker.bootstrap, topic, [vehicle(0, 1, "car"), vehicle(1, 2, "truck"), vehicle(2, 3, "unknown")])
    with consumer(kafka_broker, topic_prefix) as lines:
        assert list(islice(lines, 2)) == ["gate {'car': 1}\n", "gate {'car': 1, 'truck': 1}\n"]
        send(kafka_broker.bootstrap, topic, [vehicle(3, 4, "car")])
        assert next(lines) == "gate {'car': 2, 'truck': 1}\n"
        send(kafka_broker.bootstrap, topic, [vehicle(0, 1, "car", run="r2")])
        assert next(lines) == "gate {'car': 3, 'truck': 1}\n"


def named(stream: str, seq: int, query: str) -> bytes:
    return to_json(replace(from_json(a_result(stream, seq), Result), query=query))


def test_results_of_several_queries_on_a_stream_all_come(kafka_broker: Broker, topic: str, topic_prefix: str) -> None:
    sent = [(query, seq) for seq in range(3) for query in ("cars", "faces", "cars")]
    send(kafka_broker.bootstrap, topic, [(b"gate", named("gate", seq, query)) for query, seq in sent])
    found = islice(sluice.watch(kafka_broker.bootstrap, from_beginning=True, prefix=topic_prefix), 6)
    assert [(each.query, each.seq) for each in found] == [(q, seq) for seq in range(3) for q in ("cars", "faces")]


def first_start(broker: Broker, prefix: str, group: str) -> None:
    """A member of a group comes, and goes before anything has come."""
    read = partial(from_json, kind=Result)
    MessageReader(broker_settings(broker.bootstrap), "results", read, prefix=prefix, group=group).close()


def test_a_group_that_begins_with_what_comes_now_misses_nothing_of_it(
    kafka_broker: Broker, topic: str, topic_prefix: str
) -> None:
    """Also what comes while nobody is there, and in partitions that are added then."""
    put(kafka_broker, topic, "gate", 0, 1)
    first_start(kafka_broker, topic_prefix, topic)
    put(kafka_broker, topic, "gate", 2)
    with closing(KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap)) as client:
        client.create_partitions({topic: 6})
    until(lambda: partitions(kafka_broker, topic) == 6, "the partitions")
    streams = [f"yard{number}" for number in range(20)]
    for stream in streams:
        put(kafka_broker, topic, stream, 0)
    results = sluice.watch(kafka_broker.bootstrap, group=topic, prefix=topic_prefix)
    assert {(each.stream, each.seq) for each in islice(results, 21)} == {("gate", 2), *((each, 0) for each in streams)}


def partitions(broker: Broker, topic: str) -> int:
    with closing(KafkaConsumer(bootstrap_servers=broker.bootstrap)) as client:
        return len(client.partitions_for_topic(topic) or ())


def test_a_topic_that_comes_later_is_read_from_its_first_message(
    kafka_broker: Broker, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    results, topic = sluice.watch(kafka_broker.bootstrap, prefix=topic_prefix), f"{topic_prefix}results.v1"
    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(next, results)
        until(lambda: f"no topic {topic} yet" in caplog.text, "the reader")
        create_topic(kafka_broker.bootstrap, topic)
        put(kafka_broker, topic, "gate", 0, 1)
        until(first.done, "a result")
    assert first.result().seq == 0


def test_a_group_whose_next_message_is_gone_goes_on_with_the_first_that_is_there(
    kafka_broker: Broker, topic_prefix: str
) -> None:
    topic = f"{topic_prefix}results.v1"
    create_topic(kafka_broker.bootstrap, topic, partitions=1)
    first_start(kafka_broker, topic_prefix, topic)
    put(kafka_broker, topic, "gate", *range(8))
    with closing(KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap)) as client:
        client.delete_records({TopicPartition(topic, 0): 5})
    put(kafka_broker, topic, "gate", 8)
    results = sluice.watch(kafka_broker.bootstrap, group=topic, prefix=topic_prefix)
    assert [each.seq for each in islice(results, 4)] == [5, 6, 7, 8]


def test_what_a_slow_member_has_done_is_remembered_soon(
    kafka_broker: Broker, topic: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_reader, "SOON_S", -1.0)
    put(kafka_broker, topic, "gate", *range(100))
    results = sluice.watch(kafka_broker.bootstrap, group=topic, from_beginning=True, prefix=topic_prefix)
    assert [each.seq for each in islice(results, 60)] == list(range(60))
    with closing(KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap)) as client:
        (offsets,) = client.list_group_offsets(topic).values()
    assert 60 - AT_ONCE <= sum(each.offset for each in offsets.values()) < 60
