"""The webhook sink at a real web server that refuses, fails, hangs, redirects and goes away."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from operators.observer import Observers
from operators.wire.schema import Event, Notification, from_json
from pipelines.observe.forward.delivery import MOST_FAILURES, Delivery, Load
from pipelines.observe.forward.sink import Away, EventPicture, Failed, Refused, Sink
from pipelines.observe.forward.sinks_file import SinkSpec, SnapshotSpec
from pipelines.observe.forward.webhook import Endpoint, WebhookSink
from serving.common.retrying import MOST_PATIENCE_S, asked_for_s
from serving.remote.http_client import HttpAnswer
from tests.fake_clock import FakeClock
from tests.pipelines.observe.forward.notes import HOSTILE, event_note, state_note
from tests.pipelines.observe.forward.outcomes import Outcomes, no_frame, way
from tests.real.mosquitto import make_certificate
from tests.real.ports import free_port

SECRET = "It's a secret to everybody"


@dataclass
class Receiver:
    """A web server that answers with the next of ``statuses``, then with 204; it notes what it was sent."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    """Headers of every answer."""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    poison: str | None = None
    """A stream at whose notifications the server always fails."""
    hangs: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        if self.hangs:
            await self.over.wait()
        if self.poison is not None and json.loads(body)["stream"] == self.poison:
            return web.Response(status=500)
        status = self.statuses.pop(0) if self.statuses else 204
        elsewhere = {"Location": f"{self.url}/elsewhere"} if status == 302 else {}
        return web.Response(status=status, headers=self.answers | elsewhere)


@asynccontextmanager
async def served(receiver: Receiver, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    app = web.Application(client_max_size=4 << 20)
    app.router.add_route("*", "/{path:.*}", receiver.take)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls, reuse_address=True)
    await site.start()
    receiver.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        receiver.over.set()
        await runner.cleanup()


@asynccontextmanager
async def sink_for(endpoint: Endpoint) -> AsyncIterator[WebhookSink]:
    sink = WebhookSink(endpoint, lambda: 1_700_000_000.5)
    task = asyncio.create_task(sink.run())
    await asyncio.sleep(0)
    try:
        yield sink
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_notification_is_signed_json_with_its_picture() -> None:
    note, picture = event_note(HOSTILE), EventPicture(b"\xff\xd8 a picture", 64, 48)
    async with served(Receiver()) as receiver, sink_for(Endpoint(f"{receiver.url}/hook?key=1", SECRET)) as sink:
        await sink.deliver(note, picture)
    (body,), (headers,) = receiver.bodies, receiver.headers
    told = from_json(body, Notification)
    assert (told.id, told.stream, told.kind) == (note.id, HOSTILE, "new")
    assert told.snapshot is not None
    assert base64.b64decode(told.snapshot.base64 or "") == picture.jpeg
    digest = hmac.new(SECRET.encode(), b"1700000000." + body, hashlib.sha256).hexdigest()
    assert headers["Sluice-Signature"] == f"t=1700000000,v1={digest}"
    assert headers["Sluice-Notification"] == note.id
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("sluice/")


async def test_a_picture_that_is_too_large_for_the_server_is_left_out() -> None:
    outcomes = Outcomes()

    async def found(event: Event) -> Load:
        return lambda: np.zeros((48, 64, 3), np.uint8)

    async with served(Receiver(statuses=[413])) as receiver, sink_for(Endpoint(receiver.url)) as sink:
        spec = SinkSpec(name="hook", snapshot=SnapshotSpec())
        await Delivery(spec, sink, Observers([outcomes])).deliver(event_note(), 0.0, found)
        receiver.statuses = [413]
        await Delivery(spec, sink, Observers([outcomes])).deliver(state_note(), 0.0, found)
    first, second, third = (from_json(body, Notification) for body in receiver.bodies)
    assert (first.snapshot is None, first.snapshot_missing) == (False, None)
    assert (second.snapshot, second.snapshot_missing, second.id) == (None, "too_large", first.id)
    assert third.kind == "state"  # it has no picture that it could go without
    assert outcomes.ended == ["delivered", "refused"]


async def test_without_a_secret_nothing_is_signed() -> None:
    async with served(Receiver()) as receiver, sink_for(Endpoint(receiver.url)) as sink:
        await sink.deliver(state_note(), None)
    assert "Sluice-Signature" not in receiver.headers[0]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Refused),
        (401, Refused),
        (410, Refused),
        (501, Refused),
        (500, Failed),
        (502, Failed),
        (429, Away),
        (503, Away),
    ],
)
async def test_statuses_say_what_they_mean(status: int, error: type[Exception]) -> None:
    async with served(Receiver(statuses=[status])) as receiver, sink_for(Endpoint(receiver.url)) as sink:
        with pytest.raises(error, match=f"the server answers {status}"):
            await sink.deliver(event_note(), None)


@pytest.mark.parametrize(("said", "asked_s"), [("30", 30.0), ("Tue, 14 Nov 2023 22:14:20 GMT", 59.5), ("soon", 0.0)])
async def test_a_server_that_is_busy_says_for_how_long(said: str, asked_s: float) -> None:
    receiver = Receiver(statuses=[503], answers={"Retry-After": said})
    async with served(receiver), sink_for(Endpoint(receiver.url)) as sink:
        with pytest.raises(Away) as caught:
            await sink.deliver(event_note(), None)
    assert caught.value.not_before_s == asked_s


async def test_redirects_are_not_followed() -> None:
    async with served(Receiver(statuses=[302])) as receiver, sink_for(Endpoint(f"{receiver.url}/hook")) as sink:
        with pytest.raises(Refused, match="302: redirects are not followed"):
            await sink.deliver(event_note(), None)
    assert receiver.paths == ["/hook"]


async def test_a_server_that_hangs_fails_and_one_that_is_gone_is_away() -> None:
    async with served(Receiver(hangs=True)) as receiver, sink_for(Endpoint(receiver.url, timeout_s=0.3)) as sink:
        with pytest.raises(Failed, match=r"no answer within 0\.3 s"):
            await sink.deliver(event_note(), None)
    async with sink_for(Endpoint(f"http://127.0.0.1:{free_port()}/very-secret")) as sink:
        with pytest.raises(Away, match=r"^no connection: Connection refused$") as caught:
            await sink.deliver(event_note(), None)
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "said"), [(b"\x00\xffgarbage\r\n\r\n", "what came is not HTTP"), (b"", "the connection broke")]
)
async def test_a_server_that_speaks_something_else_is_named_in_words(answer: bytes, said: str) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(64)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, sink_for(Endpoint(url, timeout_s=30)) as sink:
        with pytest.raises(Failed, match=f"^no answer: {said}$"):
            await sink.deliver(event_note(), None)


async def test_a_certificate_must_be_trusted(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    async with served(Receiver(), tls=tls) as receiver:
        async with sink_for(Endpoint(receiver.url)) as sink:
            with pytest.raises(Away, match=r"certificate is not trusted: .*(issuer|signed)"):
                await sink.deliver(event_note(), None)
        trusted = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        async with sink_for(Endpoint(receiver.url, tls=trusted)) as sink:
            await sink.deliver(event_note(), None)
    assert len(receiver.bodies) == 1


async def test_a_server_that_comes_back_is_told_what_waited() -> None:
    clock, receiver, port = FakeClock(), Receiver(), free_port()

    async def deliver(sink: Sink, outcomes: Outcomes) -> None:
        await way(sink, clock, outcomes).deliver(event_note(), 0.0, no_frame)

    outcomes = Outcomes()
    async with sink_for(Endpoint(f"http://127.0.0.1:{port}")) as sink:
        waiting = asyncio.create_task(deliver(sink, outcomes))
        while outcomes.slept < MOST_FAILURES + 3:  # noqa: ASYNC110  more often than it may fail
            await asyncio.sleep(0.001)
        async with served(receiver, port):
            await waiting
    assert outcomes.ended == ["delivered"]
    assert len(receiver.bodies) == 1


async def test_the_worst_notification_costs_itself_alone() -> None:
    outcomes = Outcomes()
    async with served(Receiver(poison="poison")) as receiver, sink_for(Endpoint(receiver.url)) as sink:
        delivery = way(sink, FakeClock(), outcomes)
        for stream in ("poison", "yard"):
            await delivery.deliver(event_note(stream), 0.0, no_frame)
    assert outcomes.ended == ["failed", "delivered"]
    assert len(receiver.bodies) == MOST_FAILURES + 1
    assert len({headers["Sluice-Notification"] for headers in receiver.headers}) == 2


async def test_no_secret_is_logged_at_any_level(caplog: pytest.LogCaptureFixture) -> None:
    endpoint = Endpoint(f"http://127.0.0.1:{free_port()}/address-secret", SECRET)
    with caplog.at_level(logging.DEBUG):
        async with sink_for(endpoint) as sink:
            await way(sink, FakeClock(), Outcomes(), max_age_s=5.0).deliver(event_note(), 0.0, no_frame)
    text = "\n".join(record.getMessage() for record in caplog.records) + repr(endpoint)
    assert "no connection" in text
    assert SECRET not in text
    assert "address-secret" not in text


def test_what_a_server_asks_for_is_seconds_or_a_date_and_has_a_bound() -> None:
    now_s = 1_700_000_000.0
    date = format_datetime(datetime.fromtimestamp(now_s + 90, UTC), usegmt=True)
    assert asked_for_s(date, now_s) == 90.0
    assert asked_for_s("Tue, 01 Jan 1980 00:00:00 GMT", now_s) == 0.0
    assert [asked_for_s(said, now_s) for said in ("9" * 5000, "Fri, 31 Dec 9999 23:59:59 GMT")] == [MOST_PATIENCE_S] * 2
    for odd in ("", "1e9", "inf", "nan", "\u0663", "-5", "0x10", "Mon, 99 Foo 2026", "Thu, 01 Jan 0000 00:00:00 GMT"):
        assert asked_for_s(odd, now_s) == 0.0


@given(st.text(max_size=40))
def test_whatever_a_server_says_asks_for_a_time_within_the_bound(said: str) -> None:
    assert 0.0 <= asked_for_s(said, 1_700_000_000.0) <= MOST_PATIENCE_S


def test_every_status_has_a_meaning_and_only_success_delivers() -> None:
    assert [status for status in range(100, 600) if HttpAnswer(status, 0.0, b"").meaning == "answered"] == list(
        range(200, 300)
    )
    assert all(HttpAnswer(status, 0.0, b"").meaning == "refused" for status in range(300, 400))
