"""``sluice forward`` between a real Kafka, a real Mosquitto and a real web server."""

from __future__ import annotations

import base64
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from kafka import KafkaProducer

from operators.frames.codec import encode_frame
from operators.wire.schema import FRAME_HEADER_KEY, Notification, from_json, to_json
from pipelines.observe.forward.webhook import signature
from tests.integration.kafka_side import create_topic, send
from tests.operators.publish.messages import picture, result
from tests.pipelines.observe.forward.notes import HOSTILE, event, event_note, status
from tests.real.kafka import KafkaBroker, RemoteBroker
from tests.real.mosquitto import Mosquitto, subscriber
from tests.real.ports import free_port
from tests.real.process import Sluice, until
from tests.real.webhook import Hook, hooked

pytestmark = pytest.mark.kafka
Broker = KafkaBroker | RemoteBroker
SECRET, PASSWORD = "a secret of the webhook", "pa55 of the broker"
GARBAGE = (b"", b"{", b"\xff", b'{"schema":"sluice.event/9"}', b"[" * 9999, b'{"schema":"sluice.event/1","type":"new"}')

WEBHOOK = """\
version: 1
sinks:
  - name: hook
    to: webhook
    url: {url}
    secret: {{file: secret}}
    timeout_s: 5
"""
MQTT = """\
  - name: home
    to: mqtt
    url: mqtts://127.0.0.1:{port}
    cafile: {cafile}
    username: sluice
    password: {{file: password}}
    home_assistant: homeassistant
    snapshot: {{max_width: 64}}
"""


class Installation:
    """Topics of one test on a broker, and the folder of its sinks."""

    def __init__(self, folder: Path, bootstrap: str, prefix: str) -> None:
        self.folder, self.bootstrap, self.prefix = folder, bootstrap, prefix
        self._stamp_ms = int(time.time() * 1000)
        """The time of frames; a worker gives it to their events."""
        for kind in ("events", "streams", "frames"):
            create_topic(bootstrap, f"{prefix}{kind}.v1", {"cleanup.policy": "compact"} if kind == "streams" else {})
        (folder / "secret").write_text(f"{SECRET}\n")
        (folder / "password").write_text(PASSWORD)

    def forward(self, sinks: str, *options: str) -> Sluice:
        """Start it; the file of sinks lies in the folder."""
        (self.folder / "sinks.yaml").write_text(sinks)
        arguments = ("forward", self.folder / "sinks.yaml", "--prefix", self.prefix, *options)
        return Sluice(self.folder / "run", *arguments, broker=self.bootstrap)

    def tell(self, kind: str, values: Sequence[bytes], key: str = "yard") -> None:
        stamp_ms = self._stamp_ms if kind == "events" else None
        send(self.bootstrap, f"{self.prefix}{kind}.v1", [(key.encode(), value) for value in values], stamp_ms)

    def frame(self, stream: str, seq: int) -> None:
        """Put a frame on its topic, as capture does; by its own clock it was captured long ago."""
        header, jpeg = encode_frame(picture(result(seq, stream=stream), 128, 96))
        producer = KafkaProducer(bootstrap_servers=self.bootstrap)
        headers = [(FRAME_HEADER_KEY, to_json(header))]
        try:
            producer.send(f"{self.prefix}frames.v1", jpeg, stream.encode(), headers, timestamp_ms=self._stamp_ms).get(
                180
            )
        finally:
            producer.close()


@pytest.fixture
def installation(tmp_path: Path, kafka_broker: Broker, topic_prefix: str) -> Installation:
    return Installation(tmp_path, kafka_broker.bootstrap, topic_prefix)


@pytest.fixture
def hook() -> Iterator[Hook]:
    with hooked() as found:
        yield found


def forwarding(process: Sluice) -> None:
    """Return once it forwards: what comes from now on is told."""
    until(lambda: "forwarding" in process.errors, "the sinks", process)


def metrics_of(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def test_both_kinds_of_sinks_are_told_all_and_garbage_costs_itself_alone(
    installation: Installation, hook: Hook, tmp_path: Path
) -> None:
    installation.tell("streams", [to_json(status("yard", "running"))])
    for seq in (3, 7):
        installation.frame("yard", seq)
    address = f"127.0.0.1:{free_port()}"
    with Mosquitto(tmp_path / "mqtt", PASSWORD, tls=True) as mosquitto, subscriber(mosquitto.watch_port) as heard:
        sinks = WEBHOOK.format(url=hook.url) + "    snapshot: {max_width: 64}\n"
        sinks += MQTT.format(port=mosquitto.port, cafile=mosquitto.cafile)
        with installation.forward(sinks, "--listen", address) as process:
            forwarding(process)
            until(lambda: heard.on("sluice/streams/yard/state"), "the state that was there before", process)
            values = [to_json(event("yard", 7)), *GARBAGE, to_json(event("yard", 5)), to_json(event("yard", 9))]
            installation.tell("events", values)
            installation.tell("events", [to_json(event(HOSTILE, 1, captured_at=None))], HOSTILE)
            installation.tell("streams", [to_json(status("yard", "stalled", reason="timeout"))])
            until(lambda: len(hook.told) == 5, "the webhook", process)
            until(lambda: len([t for t, _ in heard.messages if t.endswith("/events")]) == 4, "MQTT", process)
            until(lambda: len(heard.on("sluice/streams/yard/state")) == 2, "the new state", process)
            counts = [
                f'sluice_notifications_total{{outcome="{outcome}",sink="{sink}"}} {count}'
                for sink in ("hook", "home")
                for outcome, count in (("delivered", 5.0), ("malformed", float(len(GARBAGE))))
            ]
            until(lambda: set(counts) <= set(metrics_of(address).splitlines()), f"metrics {counts}", process)
            with urllib.request.urlopen(f"http://{address}/healthz", timeout=10) as answer:
                assert answer.read() == b"ok\n"
            assert process.terminate() == 0
        assert SECRET not in process.errors
        assert PASSWORD not in process.errors

    seen, gone, later = (note for note in hook.of("yard") if note["kind"] == "new")
    assert (seen["id"], gone["id"]) == (event_note("yard", 7).id, event_note("yard", 5).id)
    image = cv2.imdecode(np.frombuffer(base64.b64decode(seen["snapshot"]["base64"]), np.uint8), cv2.IMREAD_COLOR)
    assert image.shape == (48, 64, 3)
    assert [note["snapshot_missing"] for note in (gone, later)] == ["gone", "gone"]
    assert [note["snapshot_missing"] for note in hook.of(HOSTILE)] == ["no_time"]
    (state,) = (note for note in hook.of("yard") if note["kind"] == "state")
    assert state["state"]["reason"] == "timeout"
    for headers, _, body in hook.told:
        at_s = int(headers["Sluice-Signature"].partition(",")[0].removeprefix("t="))
        assert headers["Sluice-Signature"] == signature(SECRET, at_s, body)

    told = [from_json(payload, Notification) for payload in heard.on("sluice/streams/yard/events")]
    assert [note.event.seq for note in told if note.event] == [7, 5, 9]
    assert [note.snapshot is not None for note in told] == [True, False, False]
    assert len(heard.on("sluice/streams/yard/snapshot")) == 1
    assert {topic.split("/")[1] for topic, _ in heard.messages if topic.startswith("homeassistant/")} == {
        *("sensor", "event", "image"),
    }


def test_a_restart_neither_loses_nor_repeats(installation: Installation, hook: Hook) -> None:
    sinks = WEBHOOK.format(url=hook.url) + "    kinds: [new]\n    labels: [van]\n"
    installation.tell("events", [to_json(event(seq=0))])  # before the first start: nobody asked for it
    with installation.forward(sinks) as process:
        forwarding(process)
        installation.tell("events", [to_json(event(seq=1)), to_json(event(seq=1, type="end"))])
        until(lambda: hook.ids() == [event_note(seq=1).id], "the first", process)
        assert process.terminate() == 0
    installation.tell("events", [to_json(event(seq=2)), to_json(event(seq=2, attributes=[], label="bus"))])
    with installation.forward(sinks) as process:
        until(lambda: len(hook.told) == 2, "what came in between", process)
        process.kill()  # with no goodbye
    hook.status, address = 503, f"127.0.0.1:{free_port()}"
    installation.tell("events", [to_json(event(seq=3))])
    with installation.forward(sinks, "--listen", address) as process:
        until(lambda: "the server answers 503; trying again" in process.errors, "an attempt in vain", process)
        until(lambda: 'sluice_sink_waiting_messages{sink="hook"} 1.0' in metrics_of(address), "the lag", process)
        assert process.terminate() == 0
    hook.status = 204
    with installation.forward(sinks) as process:
        until(lambda: hook.ids()[-1:] == [event_note(seq=3).id], "what was not delivered", process)
        assert process.terminate() == 0
    assert set(hook.ids()) == {event_note(seq=seq).id for seq in (1, 2, 3)}


def test_a_broker_that_restarts_is_waited_for(
    tmp_path: Path, own_kafka_broker: KafkaBroker, topic_prefix: str, hook: Hook
) -> None:
    installation = Installation(tmp_path, own_kafka_broker.bootstrap, topic_prefix)
    with installation.forward(WEBHOOK.format(url=hook.url)) as process:
        forwarding(process)
        installation.tell("events", [to_json(event(seq=1))])
        until(lambda: len(hook.told) == 1, "the first", process)
        own_kafka_broker.kill()
        own_kafka_broker.start()
        installation.tell("events", [to_json(event(seq=2))])
        until(lambda: event_note(seq=2).id in hook.ids(), "the second", process)
        assert process.terminate() == 0


def test_a_missing_topic_is_named(tmp_path: Path, kafka_broker: Broker, topic_prefix: str, hook: Hook) -> None:
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "sinks.yaml").write_text(WEBHOOK.format(url=hook.url))
    options = ("--prefix", topic_prefix, "--broker-timeout", "1")
    with Sluice(tmp_path, "forward", tmp_path / "sinks.yaml", *options, broker=kafka_broker.bootstrap) as process:
        assert process.wait() == 1
        assert f"has no topic {topic_prefix}events.v1, {topic_prefix}streams.v1" in process.errors
