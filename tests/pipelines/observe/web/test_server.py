"""The server, asked over real sockets."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from aiohttp import ClientSession, web

from pipelines.observe.metrics.scrape import Scrape
from pipelines.observe.station import STARTING, Condition, health_routes
from pipelines.observe.web import server
from pipelines.observe.web.gate import ANSWER_HEADERS
from pipelines.observe.web.listen import Listen, listen_on
from pipelines.observe.web.server import serving
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
    assert 'sluice_frames_total{cause="",outcome="analysed",query="q",stream="gate"} 1.0' in text
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


ASK = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def test_who_comes_when_all_places_are_taken_gets_that_of_the_first_who_asks_nothing() -> None:
    async with serving(HERE, health_routes(Condition())) as at:
        idle = [await asyncio.open_connection(at.host, at.port) for _ in range(server.MOST_CONNECTIONS)]
        idle[1][1].write(b"GET /healthz HTTP/1.1\r\nHost: loc")  # nor is half a question one
        new = [await asyncio.open_connection(at.host, at.port) for _ in range(2)]
        for reader, writer in (*new, idle[-1]):
            writer.write(ASK % b"/healthz")
            assert b"200" in await reader.readline()
        for reader, _ in idle[:2]:
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        for _, writer in (*idle, *new):
            writer.close()


async def test_a_body_that_does_not_come_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODY_S", 0.05)

    async def late(request: web.Request) -> web.Response:
        raise TimeoutError(await request.text())  # which is no matter of the body

    async with serving(HERE, [web.post("/ask", late)], body_bytes=1 << 20) as at:
        reader, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n" + b"x" * 100_000)
        answer = await reader.read()  # the connection is closed, or this would wait
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert answer.endswith(b"the body of this request has not come within 0.05 s\n")
        monkeypatch.undo()
        async with ClientSession() as client, client.post(f"http://{at}/ask", data=b"x" * 100_000) as whole:
            assert whole.status == 504
        writer.close()


async def test_who_comes_when_all_are_being_answered_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)
    asked_for, answer = asyncio.Semaphore(0), asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        asked_for.release()
        await answer.wait()
        return web.Response(text="at last")

    async with serving(HERE, [web.get("/slow", slow)]) as at:
        held = [await asyncio.open_connection(at.host, at.port) for _ in range(2)]
        for _, writer in held:
            writer.write(ASK % b"/slow")
            await asked_for.acquire()
        reader, third = await asyncio.open_connection(at.host, at.port)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        answer.set()
        assert [b"200" in await reader.readline() for reader, _ in held] == [True, True]
        for writer in (third, *(writer for _, writer in held)):
            writer.close()


async def test_a_body_that_drips_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)

    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    async with serving(HERE, [web.post("/echo", echo), *health_routes(Condition())], body_bytes=64) as at:
        slow = [await asyncio.open_connection(at.host, at.port) for _ in range(2)]
        for _, writer in slow:
            writer.write(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\nhalf")
        await asyncio.sleep(0.1)  # until its handler waits for the rest
        assert (await asked(at, "/healthz"))[0] == 200
        async with ClientSession() as client:
            async with client.post(f"http://{at}/echo", data=b"a whole one") as answer:
                assert await answer.read() == b"a whole one"
            async with client.post(f"http://{at}/echo", data=b"x" * 65) as answer:
                assert answer.status == 413
            async with client.post(f"http://{at}/echo", data=b"hello", headers={"Content-Encoding": "gzip"}) as answer:
                assert (answer.status, await answer.text()) == (400, "the body of this request cannot be read\n")
        for _, writer in slow:
            writer.close()


NO_REQUESTS = {
    "two hosts": b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    "NUL in the path": b"GET /a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "9 KB of path": b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (9000 * b"a"),
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "TLS": b"\x16\x03\x01\x02\x00\r\n\r\n",
    "half an address": b"GET http://[::1/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


async def raw(at: Listen, request: bytes) -> str:
    reader, writer = await asyncio.open_connection(at.host, at.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer.decode()


async def test_what_is_no_request_gets_the_headers_and_few_lines_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(HERE, health_routes(Condition())) as at:
        for _ in range(4):
            for request in NO_REQUESTS.values():
                head, _, text = (await raw(at, request)).partition("\r\n\r\n")
                status, *headers = head.split("\r\n")
                assert " 400 " in status
                assert text == "this is no request that can be read\n"
                assert {f"{name}: {value}" for name, value in ANSWER_HEADERS.items()} <= set(headers)
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(": ")[0] for line in said] == [
        "a request cannot be read",
        "a request cannot be read (10 so far)",
    ]
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("header", [b"Expect: nonsense", b"Origin: http://["])
async def test_odd_headers_are_refused_with_ours(header: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(HERE, health_routes(Condition())) as at:
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n\r\n" % header
        answer = await raw(at, request)
    assert answer.startswith("HTTP/1.1 4")
    assert "\r\nServer: sluice\r\n" in answer
    assert not caplog.records


async def test_a_route_that_fails_says_so_without_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(request: web.Request) -> web.Response:
        raise RuntimeError("a detail of ours")

    async with serving(HERE, [web.get("/", fails)]) as at:
        status, text, headers = await asked(at, "/")
    assert (status, text, headers["Server"]) == (500, "the request failed\n", "sluice")
    (record,) = caplog.records
    assert record.getMessage() == "a request failed: RuntimeError: a detail of ours"


async def test_who_leaves_before_the_answer_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(request: web.Request) -> web.Response:
        raise ConnectionResetError("gone")

    async with serving(HERE, [web.get("/", fails)]) as at:
        assert (await asked(at, "/"))[0] == 500
    assert not caplog.records


async def test_a_body_that_breaks_off_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    broken = b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with serving(HERE, health_routes(Condition())) as at:
        reader, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(broken)
        assert b"405" in await reader.readline()
        writer.write(b"no length\r\n\r\n")
        await reader.read()
        writer.close()
    assert not any(record.exc_info for record in caplog.records)
    assert len(caplog.records) <= 1
