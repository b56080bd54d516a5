"""The page's server side: its files, and the events that keep it up to date."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from importlib.resources import files

from aiohttp import web

from operators.wire.schema import StreamPlan
from pipelines.observe.live.board import Board
from pipelines.observe.live.pictures import Pictures
from pipelines.observe.live.viewers import MOST_VIEWERS, TooManyViewers, Viewer, Viewers
from pipelines.observe.live.views import encoded
from pipelines.observe.web.gate import ANSWER_HEADERS
from pipelines.process.tasks import meanwhile

EVERY_S = 1.0
SEND_S = 30.0
"""A reader that takes nothing for so long is let go."""
QUIET_S = 15.0
"""Without news for so long a blank line goes out, by which both sides notice that the other is gone."""
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

FindPlans = Callable[[datetime], Iterable[StreamPlan]]


class Page:
    """Keeps the board up to date, and tells those who look."""

    def __init__(self, title: str) -> None:
        self.board = Board()
        self.viewers = Viewers()
        self.pictures = Pictures(self.viewers, self.board)
        self.find_plans: FindPlans = lambda now: ()
        """How streams stand with their shortcuts; called while the page is open."""
        self._title = title

    @property
    def routes(self) -> list[web.RouteDef]:
        """The files, ``/live``, and pictures of events."""
        return [*_file_routes(), web.get("/live", self._live), web.get("/thumbnail", self._thumbnail)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Tell those who look what has changed, every second, while the block runs."""
        self.board.loop = asyncio.get_running_loop()
        async with meanwhile(self._tell()):
            yield

    async def _tell(self) -> None:
        while True:
            if not len(self.viewers):
                self.viewers.changed.clear()
                await self.viewers.changed.wait()
            self.board.planned(self.find_plans(datetime.now(UTC)))
            self._send()
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    self.viewers.changed.clear()
                    await self.viewers.changed.wait()

    def _send(self) -> None:
        wall = encoded({"title": self._title, **self.board.wall()})
        for viewer in self.viewers:
            viewer.send("wall", "wall", wall)
            if viewer.stream is not None:
                viewer.send("stream", "stream", encoded(self.board.stream(viewer.stream)))

    async def _live(self, request: web.Request) -> web.StreamResponse:
        try:
            with self.viewers.looking(request.query.get("stream")) as viewer:
                async with meanwhile(self.pictures.show_last(viewer)):
                    return await _events(request, viewer)
        except TooManyViewers:
            said = f"retry: 3000\nevent: full\ndata: {MOST_VIEWERS} pages are open already: close one\n\n"
            return web.Response(text=said, content_type="text/event-stream")  # a page hears nothing of a status

    async def _thumbnail(self, request: web.Request) -> web.Response:
        number = request.query.get("number", "")
        if not re.fullmatch(r"\d{1,15}", number, re.ASCII):
            raise web.HTTPNotFound
        found = self.board.thumbnail(request.query.get("stream", ""), int(number))
        if found is None:
            return web.Response(status=204)  # it has left the list since the page heard of it: no error there
        return web.Response(body=found, content_type="image/jpeg")


async def _events(request: web.Request, viewer: Viewer) -> web.StreamResponse:
    headers = {**ANSWER_HEADERS, "Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}  # a proxy passes it on
    response = web.StreamResponse(headers=headers)
    with suppress(ConnectionError, TimeoutError):
        await response.prepare(request)
        while True:
            try:
                async with asyncio.timeout(QUIET_S):
                    news = await viewer.next()
            except TimeoutError:
                news = b":\n\n"
            async with asyncio.timeout(SEND_S):
                await response.write(news)
    return response


def _file_routes() -> list[web.RouteDef]:
    """``/`` and ``/static/…``: a fixed list, read once; no path of a request ever reaches the disk."""
    folder = files("pipelines.observe.live") / "static"
    known = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.split(".")[-1] in TYPES}

    async def index(request: web.Request) -> web.Response:
        return _answer("index.html", known["index.html"])

    async def static(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in known:
            raise web.HTTPNotFound
        return _answer(name, known[name])

    return [web.get("/", index), web.get("/static/{name}", static)]


def _answer(name: str, content: bytes) -> web.Response:
    return web.Response(body=content, headers={"Content-Type": TYPES[name.rpartition(".")[2]]})
