"""The page over a real socket: its files, its events, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from aiohttp import ClientSession, web

from operators.wire.schema import StreamPlan, StreamStatus
from operators.zones.layout import Layout, Line, Zone
from pipelines.observe.live import page as pages
from pipelines.observe.live.page import Page
from pipelines.observe.live.viewers import Viewer
from pipelines.observe.live.words import WHO, Look
from pipelines.observe.web.listen import Listen
from pipelines.observe.web.server import serving
from tests.operators.publish.messages import AT, result, thing
from tests.pipelines.observe.plans import specialised
from tests.turns import until

STATIC = Path(pages.__file__).with_name("static")
FILES = {file.name: file.read_bytes() for file in STATIC.iterdir()}


@asynccontextmanager
async def open_page(page: Page) -> AsyncIterator[tuple[ClientSession, str]]:
    async with serving(Listen("127.0.0.1", 0), page.routes) as at, page.running(), ClientSession() as client:
        yield client, f"http://{at}"


async def events(client: ClientSession, url: str, count: int) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    async with asyncio.timeout(120), client.get(url) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        kind = ""
        async for line in answer.content:
            if line.startswith(b"event: "):
                kind = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                found.append((kind, json.loads(line[6:])))
                if len(found) == count:
                    break
    return found


async def test_files_are_served() -> None:
    async with open_page(Page("street")) as (client, url):
        for name, content in FILES.items():
            async with client.get(f"{url}/static/{name}") as answer:
                assert answer.status == 200
                assert await answer.read() == content
        async with client.get(url) as answer:
            assert await answer.read() == FILES["index.html"]
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")


@pytest.mark.parametrize(
    "path", ["/static/../page.py", "/static/%2e%2e%2fpage.py", "/static/", "/static/none.js", "/x"]
)
async def test_nothing_else_is(path: str) -> None:
    async with open_page(Page("street")) as (client, url), client.get(f"{url}{path}") as answer:
        assert answer.status == 404


async def test_who_opens_the_wall_is_told_at_once_and_again() -> None:
    page = Page("street")
    async with open_page(page) as (client, url):
        page.board.came(result(0, stream="gate"))
        told = await events(client, f"{url}/live", 2)
    assert [kind for kind, _ in told] == ["wall", "wall"]
    view = told[0][1]
    assert isinstance(view, dict)
    assert (view["title"], [each["stream"] for each in view["tiles"]]) == ("street", ["gate"])


async def test_a_streams_page_is_told_of_its_stream_and_an_unknown_one_of_nothing() -> None:
    page = Page("street")
    page.find_plans = lambda now: [StreamPlan(stream="gate", query="q", at=AT, nodes=[specialised("kind")])]
    async with open_page(page) as (client, url):
        page.board.came(result(0, stream="gate"))
        found = dict(await events(client, f"{url}/live?stream=gate", 2))
        unknown = dict(await events(client, f"{url}/live?stream=none", 2))
    view = found["stream"]
    assert isinstance(view, dict)
    assert view["nodes"][0]["node"] == "kind"
    assert unknown["stream"] is None


async def test_a_streams_page_is_told_of_its_zones_and_lines() -> None:
    page, corners = Page("street"), ((0.1, 0.1), (0.9, 0.1), (0.9, 0.9))
    page.board.layout = Layout(
        (Zone("lot", corners, ("gate",)), Zone("far", corners, ("door",))), (Line("in", corners),)
    )
    async with open_page(page) as (client, url):
        page.board.came(result(0, stream="gate"))
        view = dict(await events(client, f"{url}/live?stream=gate", 2))["stream"]
    assert isinstance(view, dict)
    points = [list(corner) for corner in corners]
    assert (view["zones"], view["lines"]) == ([{"name": "lot", "points": points}], [{"name": "in", "points": points}])


async def test_readers_who_leave_before_the_answer_begins_leave_no_line_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page("street")
    looking, gone = pages._events, asyncio.Event()

    async def late(request: web.Request, viewer: Viewer) -> web.StreamResponse:
        await until(lambda: request.transport is None)
        try:
            return await looking(request, viewer)
        finally:
            gone.set()

    monkeypatch.setattr(pages, "_events", late)
    async with open_page(page) as (_, url):
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await page.viewers.changed.wait()
        writer.close()
        await asyncio.wait_for(gone.wait(), 10)
        assert len(page.viewers) == 0
    assert not caplog.records


async def test_pictures_of_events_are_served() -> None:
    page, name = Page("street"), "a/b c?&"
    async with open_page(page) as (client, url):
        page.board.came(result(0, thing(1), stream=name))
        with page.viewers.looking(None):
            page.pictures.offer(result(1, thing(1), stream=name), lambda: np.zeros((60, 80, 3), np.uint8))
            await page.pictures.settled()
        async with client.get(f"{url}/thumbnail", params={"stream": name, "number": "1"}) as answer:
            assert (answer.status, answer.headers["Content-Type"]) == (200, "image/jpeg")
            assert (await answer.read()).startswith(b"\xff\xd8")
        for stream, number in ((name, "2"), ("other", "1")):
            async with client.get(f"{url}/thumbnail", params={"stream": stream, "number": number}) as answer:
                assert (answer.status, await answer.read()) == (204, b""), "it has left the list"
        for number in ("x", "-1", "9" * 99, ""):
            async with client.get(f"{url}/thumbnail", params={"stream": name, "number": number}) as answer:
                assert answer.status == 404
        async with client.get(f"{url}/thumbnail") as answer:
            assert answer.status == 404


async def test_too_many_viewers_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page("street")
    monkeypatch.setattr(page.viewers, "_most", 1)
    async with open_page(page) as (client, url), client.get(f"{url}/live"), client.get(f"{url}/live") as answer:
        assert "event: full\ndata: 16 pages are open already: close one\n" in await answer.text()


async def test_states_come_from_threads() -> None:
    page = Page("street")
    status = StreamStatus(stream="gate", run="r", state="stalled", uri="", at=AT)
    page.board.stream_state_changed(status)  # nobody can look yet
    async with page.running():
        await asyncio.to_thread(page.board.stream_state_changed, status)
        await asyncio.sleep(0)
        assert [tile["word"] for tile in page.board.wall()["tiles"]] == ["not come yet"]


def test_scripts_set_text_and_never_markup() -> None:
    text = b"\n".join(FILES.values()).decode()
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "onclick=")
    assert [each for each in forbidden if each in text] == []
    assert not re.findall(r"(?:src|href)=\"(?:/|\w+:)|https?://(?!www\.w3\.org)", text)


def test_every_word_has_its_name_and_colour() -> None:
    words, base, parts = (FILES[name].decode() for name in ("words.js", "base.css", "parts.css"))
    for name in WHO:
        assert re.search(rf"^  {name}: ", words, re.M)
        assert base.count(f"--{name}:") == 2
        assert f".{name} {{ --who: var(--{name}); }}" in parts
    for look in get_args(Look):
        assert f".pill.{look} {{" in parts
