"""One message of a topic, whatever it holds and whatever happens at it, costs no other one."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from operators.observer import Observers
from operators.wire.schema import Notification, to_json
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.forward.delivery import Delivery
from pipelines.observe.forward.forwarder import ForwardConfig, Forwarder
from pipelines.observe.forward.frame_finder import Found, FrameFinder
from pipelines.observe.forward.sink import EventPicture
from pipelines.observe.forward.sinks_file import WebhookSpec
from pipelines.settings import BrokerSettings
from tests.pipelines.observe.forward.notes import event, status
from tests.pipelines.observe.forward.outcomes import Outcomes

SPEC = WebhookSpec.model_validate(
    {"name": "hook", "to": "webhook", "url": "http://a", "snapshot": {}, "kinds": ["new", "state"]}
)


class Taking:
    """A sink that takes everything."""

    keeps_states = False

    def __init__(self) -> None:
        self.taken: list[tuple[Notification, EventPicture | None]] = []

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        self.taken.append((notice, picture))

    async def run(self) -> None:
        """Nothing."""

    def restore(self, notice: Notification) -> None:
        """Nothing is kept."""


def record(value: bytes | None, topic: str = "events") -> Any:
    return SimpleNamespace(
        topic=f"sluice.{topic}.v1", partition=0, offset=3, value=value, timestamp=time.time() * 1000, headers=[]
    )


async def broken(*_: object) -> Found:
    raise RuntimeError("nobody foresaw this; password=hunter22")


async def test_each_message_ends_in_one_way(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    sink, outcomes = Taking(), Outcomes()
    config = ForwardConfig(BrokerSettings(("127.0.0.1:1",)), TopicsConfig())
    way = Delivery(SPEC, sink, Observers([outcomes]))
    take = partial(Forwarder(config, [(SPEC, sink)])._take, way)
    for value in (b"{", to_json(event(captured_at=None)), to_json(event(type="end"))):
        await take(record(value))
    for state in (None, to_json(status())):
        await take(record(state, "streams"))
    monkeypatch.setattr(FrameFinder, "_find", broken)
    await take(record(to_json(event())))
    assert outcomes.ended == ["malformed", "delivered", "delivered", "failed"]
    (told, picture), (state_told, _) = sink.taken
    assert (told.snapshot_missing, picture) == ("no_time", None)
    assert state_told.kind == "state"
    text = "\n".join(line.getMessage() for line in caplog.records)
    assert "topic sluice.events.v1 partition 0 offset 3: " in text
    assert "new of stream yard: RuntimeError: nobody foresaw this" in text
    assert "hunter22" not in text
