"""What a worker learnt of a stream is known to the worker that takes it over, before it analyses its first frame."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.admin import ACL, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern, ResourceType

from pipelines.kafka.topics import TopicsConfig
from pipelines.worker import state_topic
from tests.faults.test_resume import worker_process
from tests.integration.kafka_side import create_topic, send
from tests.integration.notebook import Notebook, of, streams, until
from tests.integration.test_worker import messages_of, results_of, working
from tests.integration.worker_parts import Sent, Wire, frame_message, plain
from tests.real.kafka import KafkaBroker, RemoteBroker, require_jars

pytestmark = pytest.mark.kafka

PER_STREAM = 5
ALL = len(streams()) * PER_STREAM


@pytest.fixture
def topic(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> str:
    """With another number of partitions than the frames have."""
    create_topic(kafka_broker.bootstrap, f"{topic_prefix}state", TopicsConfig().state.broker_configs(), partitions=3)
    return f"{topic_prefix}state"


def frames(first: int, count: int) -> list[Sent]:
    return [frame_message(stream, seq) for seq in range(first, first + count) for stream in streams()]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings; whether what is merely said is captured depends on the tests before."""
    ours = [record for record in caplog.records if record.name == "pipelines.worker.state_topic"]
    return [record.getMessage() for record in ours if record.levelno >= logging.WARNING]


async def test_after_a_clean_end_nothing_is_forgotten(wire: Wire, topic: str) -> None:
    await wire.send(frames(0, PER_STREAM))
    first, second = Notebook(wire.query), Notebook(wire.query)
    async with working(wire, first, state=first.state(topic)):
        await results_of(wire, ALL)
    await wire.send(frames(PER_STREAM, 1))
    async with working(wire, second, state=second.state(topic)):
        await results_of(wire, ALL + len(streams()))
        assert of(second, streams()) == [PER_STREAM] * len(streams())


async def test_another_query_on_the_same_streams_learns_for_itself(wire: Wire, topic: str) -> None:
    await wire.send(frames(0, PER_STREAM))
    first, other = Notebook(wire.query), Notebook("other")
    async with working(wire, first, state=first.state(topic)):
        await results_of(wire, ALL)
    wire.query = "other"
    async with working(wire, other, state=other.state(topic)):
        await results_of(wire, 2 * ALL)
        assert of(other, streams()) == [0] * len(streams())


async def test_streams_that_move_take_with_them_what_is_known(wire: Wire, topic: str) -> None:
    await wire.send(frames(0, PER_STREAM))
    first, second = Notebook(wire.query), Notebook(wire.query)
    async with working(wire, first, state=first.state(topic)):
        await results_of(wire, ALL)
        async with working(wire, second, state=second.state(topic)):
            await until(lambda: bool(first.forgotten))
            await wire.send(frames(PER_STREAM, 1))
            await results_of(wire, ALL + len(streams()))
            moved = [stream for stream in streams() if stream in second.at_first]
            assert moved
            assert set(moved) <= set(first.forgotten)
            assert of(second, moved) == [PER_STREAM] * len(moved)
        await wire.send(frames(PER_STREAM + 1, 1))
        await results_of(wire, ALL + 2 * len(streams()))
        assert first.frames == dict.fromkeys(streams(), PER_STREAM + 2), "they came back with what was learnt elsewhere"


async def test_after_a_kill_what_was_published_last_is_known(
    kafka_broker: KafkaBroker | RemoteBroker, wire: Wire, topic: str, topic_prefix: str
) -> None:
    await wire.send(frames(0, PER_STREAM))
    with worker_process(kafka_broker.bootstrap, topic_prefix, 0.0, topic) as process:
        await results_of(wire, ALL)
        published = 0
        async with asyncio.timeout(180):
            while published < len(streams()):
                kept = [message.value for message in await wire.all_of(topic)]
                published = sum(b'"frames":5' in value.replace(b" ", b"") for value in kept)
        process.kill()
        process.wait(60)
    await wire.send(frames(PER_STREAM, 1))
    second = Notebook(wire.query)
    async with working(wire, second, state=second.state(topic)):
        await messages_of(wire, wire.topics.results, ALL + len(streams()))
        assert of(second, streams()) == [PER_STREAM] * len(streams())


async def test_a_damaged_snapshot_is_logged_and_its_stream_begins_anew(
    wire: Wire, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    send(wire.broker.servers[0], topic, [(f"{wire.query}/camera-3".encode(), b"\x00{")])
    await wire.send(frames(0, 1))
    notebook = Notebook(wire.query)
    async with working(wire, notebook, state=notebook.state(topic)):
        await results_of(wire, len(streams()))
        assert of(notebook, streams()) == [0] * len(streams())
    (told,) = lines(caplog)
    assert told.startswith(f"topic {topic}: the snapshot of a stream is damaged: stream camera-3: ")


async def test_without_the_topic_the_worker_works_and_says_so_once(
    wire: Wire, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    await wire.send(frames(0, 1))
    notebook = Notebook(wire.query)
    async with working(wire, notebook, state=notebook.state(f"{topic_prefix}none")):
        await results_of(wire, len(streams()))
    (told,) = lines(caplog)
    assert f"no topic {topic_prefix}none: make it with `sluice topics create`" in told


@pytest.fixture(scope="module")
def guarded() -> Iterator[KafkaBroker]:
    """A broker that checks rights, of those topics that have any."""
    require_jars()
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    with KafkaBroker(properties={"authorizer.class.name": authorizer, "allow.everyone.if.no.acl.found": "true"}) as own:
        yield own


@pytest.mark.parametrize("allowed", [[], ["DESCRIBE", "WRITE"], ["DESCRIBE", "READ"]], ids=["none", "write", "read"])
async def test_without_the_right_to_read_or_write_the_worker_works_and_says_so_once(
    guarded: KafkaBroker,
    topic_prefix: str,
    allowed: list[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_topic, "SNAPSHOT_EVERY_S", 0.2)
    wire, topic = Wire(plain(guarded), topic_prefix), f"{topic_prefix}state"
    create_topic(guarded.bootstrap, topic)
    send(guarded.bootstrap, topic, [(b"of another query/camera-3", b"{}")])
    allow(guarded.bootstrap, topic, "User:somebody-else", ["ALL"])
    allow(guarded.bootstrap, topic, "User:ANONYMOUS", allowed)
    await wire.send(frames(0, 1))
    notebook = Notebook(wire.query)
    async with working(wire, notebook, state=notebook.state(topic)):
        await results_of(wire, len(streams()))
        await until(lambda: bool(lines(caplog)))
        await wire.send(frames(1, 1))
        await results_of(wire, 2 * len(streams()))
    (told,) = lines(caplog)
    assert told.startswith("what is learnt of streams will not survive this worker: ")
    assert topic in told


def allow(bootstrap: str, topic: str, principal: str, operations: list[str]) -> None:
    pattern: Any = ResourcePattern(ResourceType.TOPIC, topic)
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        for operation in operations:
            admin.create_acls([ACL(principal, "*", ACLOperation[operation], ACLPermissionType.ALLOW, pattern)])
    finally:
        admin.close()
