"""The MQTT sink at a real Mosquitto: TLS and password, what is retained, a broker that goes and comes back empty."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from operators.observer import Observers
from operators.wire.schema import Event, Notification, from_json
from pipelines.observe.forward import delivery, mqtt_sink
from pipelines.observe.forward.delivery import Delivery, Load
from pipelines.observe.forward.mqtt_connection import MqttBroker, MqttConnection
from pipelines.observe.forward.mqtt_sink import MqttSink
from pipelines.observe.forward.mqtt_topics import Announced, Topics
from pipelines.observe.forward.sink import Away, EventPicture
from pipelines.observe.forward.sinks_file import MqttSpec, SnapshotSpec
from serving.common.retrying import Backoff
from tests.pipelines.observe.forward.notes import HOSTILE, count_note, event_note, state_note
from tests.pipelines.observe.forward.outcomes import Outcomes
from tests.real.mosquitto import Mosquitto, subscriber
from tests.turns import turns

PASSWORD = "pa55 w/ $ymb0ls"
PICTURE = EventPicture(b"\xff\xd8 a picture", 64, 48)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqtt_sink, "BACKOFF", Backoff(first_s=0.1, max_s=0.2))


def sink_at(port: int, announced: Announced | None = None) -> MqttSink:
    return MqttSink("home", MqttBroker("127.0.0.1", port), Topics("sluice"), announced)


@asynccontextmanager
async def running(sink: MqttSink) -> AsyncIterator[None]:
    task = asyncio.create_task(sink.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def delivered(sink: MqttSink, note: Notification, picture: EventPicture | None = None) -> None:
    """Try until it is."""
    async with asyncio.timeout(120):
        while True:
            try:
                return await sink.deliver(note, picture)
            except Away:
                await asyncio.sleep(0.05)


async def away(sink: MqttSink) -> None:
    """Deliver until it is noticed that nobody is there."""
    async with asyncio.timeout(120):
        while True:
            try:
                await sink.deliver(event_note(), None)
            except Away:
                return


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110  another thread makes it true
            await asyncio.sleep(0.05)


async def test_events_come_with_their_picture_and_states_stay(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker, subscriber(broker.watch_port) as heard:
        sink = sink_at(broker.port)
        async with running(sink):
            await delivered(sink, state_note("yard", "running"))
            await delivered(sink, count_note("yard"))
            await delivered(sink, event_note("yard"), PICTURE)
            await until(lambda: heard.on("sluice/streams/yard/events"))
            topics = [topic for topic, _ in heard.messages]
            assert topics.index("sluice/streams/yard/snapshot") < topics.index("sluice/streams/yard/events")
            assert heard.on("sluice/streams/yard/snapshot") == [PICTURE.jpeg]
            (told,) = heard.on("sluice/streams/yard/events")
            note = from_json(told, Notification)
            assert note.snapshot is not None
            assert (note.snapshot.topic, note.snapshot.width) == ("sluice/streams/yard/snapshot", 64)
        with subscriber(broker.watch_port) as later:
            await until(lambda: len(later.retained) >= 4)
            assert later.retained["sluice/status"] == b"offline"
            assert json.loads(later.retained["sluice/streams/yard/state"])["state"]["state"] == "running"
            assert json.loads(later.retained["sluice/streams/yard/counts"])["count"]["zones"] == {"ramp": {"car": 2}}
            assert set(later.retained) == {
                *("sluice/status", "sluice/streams/yard/state", "sluice/streams/yard/counts"),
                "sluice/streams/yard/zones/ramp",
            }
            assert later.retained["sluice/streams/yard/zones/ramp"] == b"2"


async def test_each_zone_is_announced_once_within_a_bound_and_told_as_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_sink, "MOST_ZONES", 2)
    with Mosquitto(tmp_path) as broker, subscriber(broker.watch_port) as heard:
        sink = sink_at(broker.port, Announced("homeassistant", ("count",), pictures=False))
        async with running(sink):
            for zones in ({"ramp": {"car": 2, "bus": 1}}, {"ramp": {}, HOSTILE: {"car": 1}, "third": {"car": 1}}):
                await delivered(sink, count_note("yard", zones))
            await delivered(sink, event_note("yard"))
            await until(lambda: heard.on("sluice/streams/yard/events"))
        assert heard.on("sluice/streams/yard/zones/ramp") == [b"3", b"0"]
        announced = [json.loads(data) for topic, data in heard.messages if topic.startswith("homeassistant/sensor/")]
        assert [each["name"] for each in announced] == ["ramp", HOSTILE]
        assert heard.on(announced[1]["state_topic"]) == [b"1"]
        assert not heard.on("sluice/streams/yard/zones/third")


async def test_a_broker_that_comes_back_empty_is_told_the_states_again(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path)
    sink = sink_at(broker.port, Announced("homeassistant", ("new", "state"), pictures=False))
    broker.start()
    try:
        async with running(sink):
            await delivered(sink, state_note("yard", "stalled"))
            broker.stop()
            await away(sink)
            broker.start()
            with subscriber(broker.watch_port) as heard:
                await until(lambda: heard.on("sluice/streams/yard/state"))
                assert [topic for topic, _ in heard.messages if topic.startswith("homeassistant/sensor/")]
    finally:
        broker.stop()


async def test_a_picture_that_the_broker_does_not_take_costs_the_picture_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "BACKOFF", Backoff(first_s=0.05, max_s=0.05))
    outcomes, large = Outcomes(), np.random.default_rng(1).integers(0, 256, (400, 400, 3), np.uint8)

    async def found(event: Event) -> Load:
        return lambda: large

    with Mosquitto(tmp_path, more="max_packet_size 20000") as broker, subscriber(broker.watch_port) as heard:
        sink = sink_at(broker.port)
        spec = MqttSpec(name="home", to="mqtt", url="mqtt://here", snapshot=SnapshotSpec())
        async with running(sink):
            way = Delivery(spec, sink, Observers([outcomes]))
            for _ in range(2):
                async with asyncio.timeout(30):
                    await way.deliver(event_note("yard"), 0.0, found)
            await until(lambda: len(heard.on("sluice/streams/yard/events")) == 2)
    told = [from_json(each, Notification) for each in heard.on("sluice/streams/yard/events")]
    assert [(note.snapshot, note.snapshot_missing) for note in told] == [(None, "too_large")] * 2
    assert outcomes.ended == ["delivered"] * 2


async def test_what_comes_before_the_first_connection_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = asyncio.Event()

    class Slow:
        def __init__(self, *_: object) -> None:
            self.lost, self.told = asyncio.Event(), list[str]()

        async def open(self) -> None:
            await answers.wait()

        async def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
            self.told.append(topic)

        async def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr(mqtt_sink, "MqttConnection", Slow)
    sink = sink_at(1883)
    async with running(sink):
        delivering = asyncio.create_task(sink.deliver(event_note(), None))
        await turns(5)
        assert not delivering.done()
        answers.set()
        await delivering


async def test_of_two_that_share_the_work_one_may_go(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker, subscriber(broker.watch_port) as heard:
        stays, goes = sink_at(broker.port), sink_at(broker.port)
        async with running(stays):
            await delivered(stays, event_note("yard"))
            async with running(goes):
                await delivered(goes, event_note("yard"))
            await until(lambda: b"offline" in heard.on("sluice/status"))
            await until(lambda: heard.on("sluice/status")[-1] == b"online")
        await until(lambda: heard.on("sluice/status")[-1] == b"offline")


async def test_hostile_names_have_one_level_of_their_own(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker, subscriber(broker.watch_port) as heard:
        sink = sink_at(broker.port, Announced("homeassistant", ("new", "state"), pictures=True))
        async with running(sink):
            await delivered(sink, event_note(HOSTILE, label="+/#"))
            await until(lambda: [topic for topic, _ in heard.messages if topic.endswith("/events")])
        for topic, payload in heard.messages:
            if topic.startswith("homeassistant/"):
                assert len(topic.split("/")) == 4
                assert json.loads(payload)["device"]["name"] == HOSTILE
            elif topic != "sluice/status":
                assert topic.split("/")[:2] == ["sluice", "streams"]
                assert len(topic.split("/")) == 4


async def test_tls_and_password(tmp_path: Path) -> None:
    with Mosquitto(tmp_path, PASSWORD, tls=True) as broker, subscriber(broker.watch_port) as heard:
        trusted = ssl.create_default_context(cafile=broker.cafile)
        good = MqttSink("home", MqttBroker("127.0.0.1", broker.port, "sluice", PASSWORD, trusted), Topics("sluice"))
        async with running(good):
            await delivered(good, event_note())
            await until(lambda: heard.on("sluice/streams/yard/events"))
        wrong = MqttBroker("127.0.0.1", broker.port, "sluice", "another", trusted)
        nobody_known = MqttBroker("127.0.0.1", broker.port, "sluice", PASSWORD, ssl.create_default_context())
        for who, why in ((wrong, "refuses us: Not authorized"), (nobody_known, "certificate is not trusted")):
            connection = MqttConnection(who, "sluice/status")
            with pytest.raises(Away, match=why):
                await connection.open()
            await connection.close()
            assert PASSWORD not in repr(who)


@pytest.mark.parametrize("host", ["no-such-host.invalid", f"{'a' * 70}.local"])
async def test_a_host_that_cannot_be_found_is_away(host: str) -> None:
    connection = MqttConnection(MqttBroker(host, 1883), "sluice/status")
    with pytest.raises(Away, match="no connection: "):
        await connection.open()
    await connection.close()


async def test_streams_beyond_the_bound_have_events_and_nothing_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mqtt_sink, "MOST_STREAMS", 2)
    with Mosquitto(tmp_path) as broker, subscriber(broker.watch_port) as heard:
        sink = sink_at(broker.port, Announced("homeassistant", ("new", "state"), pictures=False))
        async with running(sink):
            for number in range(4):
                await delivered(sink, state_note(f"cam{number}"))
                await delivered(sink, event_note(f"cam{number}"))
            await until(lambda: heard.on("sluice/streams/cam3/events"))
    assert len({topic for topic, _ in heard.messages if topic.endswith("/state")}) == 2
    assert len({topic for topic, _ in heard.messages if topic.endswith("/config")}) == 4
    assert sum("further ones have no retained state" in record.getMessage() for record in caplog.records) == 1


async def test_a_state_that_was_given_up_while_the_broker_was_away_is_what_it_finds_when_it_is_back(
    tmp_path: Path,
) -> None:
    broker = Mosquitto(tmp_path)
    sink = sink_at(broker.port)
    broker.start()
    try:
        async with running(sink):
            await delivered(sink, state_note("yard", "running"))
            broker.stop()
            await until(lambda: sink._connection is None)
            with pytest.raises(Away):
                await sink.deliver(state_note("yard", "failed"), None)
            broker.start()
            with subscriber(broker.watch_port) as heard:
                await until(lambda: heard.on("sluice/streams/yard/state"))
            assert json.loads(heard.on("sluice/streams/yard/state")[-1])["state"]["state"] == "failed"
    finally:
        broker.stop()
