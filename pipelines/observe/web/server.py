"""The server itself: routes, the gate before them, and a life as long as a block of code."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from operators.wire.mishaps import Mishaps
from pipelines.observe.web.condition import Condition
from pipelines.observe.web.connection import HttpConnection
from pipelines.observe.web.gate import refusal
from pipelines.observe.web.listen import Listen
from serving.errors import BadInput

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 64
IDLE_S = 15.0
"""A connection without a request is closed after this time."""
REST_S = 1.0
"""The rest of a request that has been answered already is waited for so long, unread."""
STOP_S = 1.0
"""Time that open answers are given at the end."""


@asynccontextmanager
async def serving(listen: Listen, routes: Sequence[web.RouteDef]) -> AsyncIterator[Listen]:
    """Answer while the block runs; yields where, with the port that was found. BadInput where it cannot listen."""
    app = web.Application(middlewares=[_guarded(listen)], client_max_size=1024)
    app.add_routes(routes)
    runner = web.AppRunner(app, shutdown_timeout=STOP_S)
    await runner.setup()
    try:
        assert runner.server is not None
        # Lines of requests are not logged: they would be the clients' text, hundreds of them a minute.
        settings = {"access_log": None, "keepalive_timeout": IDLE_S, "lingering_time": REST_S}
        make = partial(HttpConnection, runner.server, MOST_CONNECTIONS, Mishaps(log), **settings)
        sockets = await _listening(listen, make)
        try:
            yield Listen(listen.host, sockets.sockets[0].getsockname()[1], listen.secret)
        finally:
            sockets.close()
    finally:
        await runner.cleanup()


async def _listening(listen: Listen, make: Callable[[], asyncio.BaseProtocol]) -> asyncio.Server:
    try:
        loop = asyncio.get_running_loop()
        return await loop.create_server(make, listen.host, listen.port)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadInput(f"cannot listen on {listen}: {why}; choose another address with --listen") from None


def health_routes(condition: Condition) -> list[web.RouteDef]:
    """``/healthz`` and ``/readyz``: 200, or 503 with the reason in one line."""

    async def healthz(request: web.Request) -> web.Response:
        return _verdict(condition.problem)

    async def readyz(request: web.Request) -> web.Response:
        return _verdict(condition.unready)

    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Sluice</title></head>
<body><h1>Sluice</h1>
<p>This process serves its <a href="/metrics">metrics</a>, for Prometheus, and says whether it
<a href="/healthz">is well</a> and <a href="/readyz">is at work</a>.</p>
<p>The live page is served by <code>sluice serve</code>, for all streams, and by <code>sluice run --serve</code>, for
its own.</p>
</body></html>
"""


def index_routes() -> list[web.RouteDef]:
    """``/`` of a process that has no page: what there is in its place."""

    async def index(request: web.Request) -> web.Response:
        return web.Response(text=INDEX, content_type="text/html")

    return [web.get("/", index)]


def _verdict(problem: str | None) -> web.Response:
    return web.Response(status=200 if problem is None else 503, text=f"{problem or 'ok'}\n")


def _guarded(listen: Listen) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = refusal(listen, request.path, request.headers)
        if refused is not None:
            return web.Response(status=refused.status, text=f"{refused.why}\n", headers=refused.headers)
        connection = cast(HttpConnection, request.protocol)
        connection.answering = True
        try:
            return await handler(request)
        except web.HTTPException as error:
            return web.Response(status=error.status, text=f"{error.reason}\n")
        finally:
            connection.answering = False

    return guard
