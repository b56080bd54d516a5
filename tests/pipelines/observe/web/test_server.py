"""The server, asked over real sockets."""

from __future__ import annotations

import asyncio
import threading
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from aiohttp import ClientSession, web

from pipelines.observe.web import server
from pipelines.observe.web.condition import STARTING, Condition
from pipelines.observe.web.gate import ANSWER_HEADERS
from pipelines.observe.web.in_thread import in_thread
from pipelines.observe.web.listen import Listen, listen_on
from pipelines.observe.web.scrape import Scrape
from pipelines.observe.web.server import health_routes, serving
from serving.errors import BadInput
from tests.operators.publish.messages import result

HERE = Listen("127.0.0.1", 0)


async def asked(at: Listen, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    async with ClientSession() as client, client.get(f"http://{at}{path}", headers=headers) as answer:
        return answer.status, await answer.text(), dict(answer.headers)


async def test_health_follows_the_condition() -> None:
    condition = Condition()
    async with serving(HERE, health_routes(condition)) as at:
        assert (await asked(at, "/healthz"))[:2] == (200, "ok\n")
        assert (await asked(at, "/readyz"))[:2] == (503, f"{STARTING}\n")
        condition.worker_checked({}, 0.0, None)
        assert (await asked(at, "/readyz"))[:2] == (200, "ok\n")
        condition.worker_checked({}, 0.0, "the broker is silent")
        assert (await asked(at, "/healthz"))[:2] == (503, "the broker is silent\n")
        condition.worker_waits("waiting for kafka://a")
        assert (await asked(at, "/readyz"))[:2] == (503, "waiting for kafka://a\n")


async def test_metrics_are_what_was_observed() -> None:
    scrape = Scrape(10)
    async with serving(HERE, scrape.routes) as at:
        scrape.recorder.frame_analysed(result(0, stream="gate"))
        status, text, headers = await asked(at, "/metrics")
    assert status == 200
    assert 'sluice_frames_total{cause="",outcome="analysed",stream="gate"} 1.0' in text
    assert "process_resident_memory_bytes" in text
    assert "_created" not in text
    assert headers["Content-Type"].startswith("text/plain; version=")


@pytest.mark.parametrize("path", ["/healthz", "/none", "/metrics/../../etc/passwd"])
async def test_every_answer_has_the_headers(path: str) -> None:
    async with serving(HERE, health_routes(Condition())) as at:
        _, text, headers = await asked(at, path)
        refused = await asked(at, path, Host="evil.com")
    for name, value in ANSWER_HEADERS.items():
        assert headers[name] == refused[2][name] == value
    assert refused[0] == 403
    assert "passwd" not in text


async def test_other_methods_are_refused() -> None:
    async with (
        serving(HERE, health_routes(Condition())) as at,
        ClientSession() as client,
        client.post(f"http://{at}/healthz", data=b"x" * 4096) as answer,
    ):
        assert answer.status == 405


async def test_a_secret_is_asked_for() -> None:
    listen = Listen("127.0.0.1", 0, "a secret of many letters")
    async with serving(listen, Scrape(10).routes) as at:
        assert (await asked(at, "/metrics"))[0] == 401
        assert (await asked(at, "/metrics", Authorization=f"Bearer {listen.secret}"))[0] == 200


async def test_an_address_in_use_is_told_in_one_line() -> None:
    async with serving(HERE, []) as at:
        with pytest.raises(BadInput, match=f"cannot listen on {at}: .* in use.*--listen"):
            async with serving(at, []):
                pass
    with pytest.raises(BadInput, match="cannot listen on"):
        async with serving(listen_on("no-such-host.invalid:80", "x" * 20), []):
            pass


async def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)
    async with serving(HERE, health_routes(Condition())) as at:
        held = [await asyncio.open_connection(at.host, at.port) for _ in range(2)]
        for _, writer in held:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert [b"200" in await reader.readline() for reader, _ in held] == [True, True]
        reader, third = await asyncio.open_connection(at.host, at.port)
        third.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        for writer in (third, *(writer for _, writer in held)):
            writer.close()


async def _serve(
    routes: list[web.RouteDef], said: list[Listen], begun: Callable[[], None], stop: asyncio.Event
) -> None:
    async with serving(HERE, routes) as at:
        said.append(at)
        begun()
        await stop.wait()


def test_a_thread_serves_a_process_without_a_loop() -> None:
    said: list[Listen] = []
    routes = health_routes(Condition())
    with in_thread(lambda begun, stop: _serve(routes, said, begun, stop)):
        answer = urllib.request.urlopen(f"http://{said[0]}/healthz")
        assert answer.read() == b"ok\n"
        answer.close()
    assert "serve" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://{said[0]}/healthz")


def test_what_keeps_a_thread_from_serving_is_raised_where_it_was_wanted() -> None:
    async def fails(begun: Callable[[], None], stop: asyncio.Event) -> None:
        raise BadInput("the address is in use")

    with pytest.raises(BadInput, match="in use"), in_thread(fails):
        pass
