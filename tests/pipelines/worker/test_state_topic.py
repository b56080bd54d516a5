"""What is published of streams and restored, without a broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import pytest
from aiokafka.errors import KafkaConnectionError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from pipelines.partition.duties import StateConfig
from pipelines.partition.publisher import Outgoing, Publisher
from pipelines.settings import BrokerSettings
from pipelines.worker import state_topic
from pipelines.worker.state_topic import BoundedStore, StreamSnapshot, TopicStateStore
from tests.at_once import AT_ONCE
from tests.integration.notebook import until


@dataclass
class Node:
    """Knows a number of each stream."""

    known: dict[str, int] = field(default_factory=dict)

    def snapshot(self, stream: str) -> bytes | None:
        return json.dumps(self.known[stream]).encode() if stream in self.known else None

    def restore(self, stream: str, data: bytes) -> None:
        self.known[stream] = json.loads(data)

    def forget(self, stream: str) -> None:
        self.known.pop(stream, None)


class Bench(TopicStateStore):
    """Reads what it is told, and publishes into a list."""

    def __init__(self, *readings: dict[str, bytes] | Exception, nodes: dict[str, Node] | None = None) -> None:
        self.nodes = {"kind": Node()} if nodes is None else nodes
        self.readings, self.published = list(readings), list[Outgoing]()
        self.error: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.changed = asyncio.Event()
        what = StateConfig("state", self.nodes, self.changed)
        super().__init__(BrokerSettings(("nowhere:1",)), "vehicles", what, Publisher(self._send), AT_ONCE)

    async def _send(self, message: Outgoing) -> Awaitable[object]:
        await self.open.wait()
        if self.error:
            raise self.error
        self.published.append(message)
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def _read_once(self) -> BoundedStore:
        reading = self.readings.pop(0)
        if isinstance(reading, Exception):
            raise reading
        found = BoundedStore(1000, 10_000)
        for stream, data in reading.items():
            found.put(stream, data)
        return found

    def values(self) -> list[object]:
        return [json.loads(message.value)["nodes"] for message in self.published]


def kept(**nodes: int) -> bytes:
    raw = {name: msgspec.Raw(json.dumps(value).encode()) for name, value in nodes.items()}
    return msgspec.json.encode(StreamSnapshot(query="vehicles", stream="gate", at=datetime.now(UTC), nodes=raw))


async def test_what_was_kept_is_restored_to_the_nodes_that_are_left() -> None:
    bench = Bench({"gate": kept(kind=7, gone=1)})
    await bench.read()
    bench.restore("gate")
    bench.restore("yard")
    assert bench.nodes["kind"].known == {"gate": 7}


async def test_the_topic_is_read_once_and_again_after_partitions_moved() -> None:
    bench = Bench({"gate": kept(kind=7)}, {"gate": kept(kind=8)})
    await asyncio.gather(*(bench.read() for _ in range(3)))
    assert len(bench.readings) == 1
    bench.reset()
    await bench.read()
    bench.restore("gate")
    assert bench.nodes["kind"].known == {"gate": 8}


async def test_streams_that_are_held_are_published_when_they_have_changed() -> None:
    bench = Bench()
    bench.nodes["kind"].known = {"gate": 1, "yard": 2, "elsewhere": 3}
    for stream in ("gate", "yard", "unknown"):
        bench.restore(stream)
    await bench.save()
    assert [message.key for message in bench.published] == [b"vehicles/gate", b"vehicles/yard"]
    assert bench.values() == [{"kind": 1}, {"kind": 2}]
    bench.nodes["kind"].known["yard"] = 5
    bench.forget("gate")
    bench.nodes["kind"].known["gate"] = 6
    await bench.save()
    assert bench.values()[2:] == [{"kind": 5}]
    await bench.save()
    assert len(bench.published) == 3


async def test_a_change_of_phase_is_published_at_once() -> None:
    bench = Bench()
    bench.restore("gate")
    async with bench.saving():
        await asyncio.sleep(0)
        bench.nodes["kind"].known["gate"] = 1
        bench.changed.set()
        await until(lambda: bool(bench.published), timeout_s=5)
    assert bench.values() == [{"kind": 1}]


async def test_what_is_damaged_is_told_of_once_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench({"gate": b"{", "yard": kept(kind=7), "door": b'{"schema":"sluice.state/9"}'})
    await bench.read()
    for stream in ("gate", "yard", "door"):
        bench.restore(stream)
    assert bench.nodes["kind"].known == {"yard": 7}
    told = [record.getMessage() for record in caplog.records]
    assert told == ["topic state: the snapshot of a stream is damaged: stream gate: Input data was truncated"]


@pytest.mark.parametrize("damage", [b"\xff", b"[" * 100_000, b'{"nodes":' * 50_000, b"9" * 10_000])
async def test_nothing_that_is_read_ends_the_worker(damage: bytes) -> None:
    bench = Bench({"gate": damage})
    await bench.read()
    bench.restore("gate")
    assert bench.nodes["kind"].known == {}


async def test_a_node_that_cannot_go_on_from_what_was_kept_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    class Strict(Node):
        def restore(self, stream: str, data: bytes) -> None:
            self.known[stream] = -1
            raise OverflowError("half done")

    bench = Bench({"gate": kept(kind=7)}, nodes={"kind": Strict(), "other": Node()})
    await bench.read()
    bench.restore("gate")
    assert bench.nodes["kind"].known == {}
    assert "stream gate, node kind: OverflowError: half done" in caplog.text


@pytest.mark.parametrize("error", [UnknownTopicOrPartitionError("no topic state"), TopicAuthorizationFailedError()])
async def test_a_topic_that_cannot_be_used_is_told_of_once(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    bench = Bench(error)
    for _ in range(2):
        await bench.read()
        bench.reset()
    bench.restore("gate")
    bench.nodes["kind"].known["gate"] = 1
    await bench.save()
    assert bench.published == []
    (told,) = caplog.records
    assert told.getMessage().startswith("what is learnt of streams will not survive this worker: ")


async def test_a_topic_that_cannot_be_written_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.error = TopicAuthorizationFailedError("state")
    bench.restore("gate")
    for number in range(2):
        bench.nodes["kind"].known["gate"] = number
        await bench.save()
    (told,) = caplog.records
    assert "cannot publish to state" in told.getMessage()


async def test_a_broker_that_is_slow_is_asked_again_and_at_last_done_without(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(KafkaConnectionError(), {"gate": kept(kind=7)}, *[KafkaConnectionError()] * state_topic.ATTEMPTS)
    await bench.read()
    bench.restore("gate")
    assert bench.nodes["kind"].known == {"gate": 7}
    bench.reset()
    await bench.read()
    assert caplog.records[-1].getMessage() == "topic state cannot be read (KafkaConnectionError): streams begin anew"


async def test_handing_over_takes_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_topic, "SAVE_TIMEOUT_S", 0.01)
    bench = Bench()
    bench.open.clear()
    bench.nodes["kind"].known["gate"] = 1
    bench.restore("gate")
    async with asyncio.timeout(120):
        await bench.save()
    bench.open.set()
    monkeypatch.setattr(state_topic, "SAVE_TIMEOUT_S", 5.0)
    await bench.save()
    assert bench.values() == [{"kind": 1}]


async def test_where_nothing_learns_nothing_is_read() -> None:
    bench = Bench(nodes={})
    await bench.read()
    bench.restore("gate")
    await bench.save()
    assert bench.published == []
