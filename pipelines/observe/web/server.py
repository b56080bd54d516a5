"""The server itself: few connections, the gate before routes, and a life as long as a block of code.

What is no request costs a line in the log, not a traceback each.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from ssl import SSLContext
from typing import Any, cast

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from operators.wire.mishaps import Mishaps
from pipelines.observe.web.gate import ANSWER_HEADERS, refusal
from pipelines.observe.web.listen import Listen
from serving.errors import BadInput

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 64
IDLE_S = 15.0
"""A connection without a request is closed after this time."""
BODY_S = 30.0
"""A request that is not whole after this time is let go, with what it has sent."""
REST_S = 1.0
"""The rest of a request that has been answered already is waited for so long, unread."""
STOP_S = 1.0
"""Time that open answers are given at the end."""


@asynccontextmanager
async def serving(
    listen: Listen, routes: Sequence[web.RouteDef], body_bytes: int = 1024, tls: SSLContext | None = None
) -> AsyncIterator[Listen]:
    """Answer while the block runs; yields where, with the port that was found. BadInput where it cannot listen.

    ``body_bytes``: the most that a request may carry; ``tls``: None: in the clear.
    """
    app = web.Application(middlewares=[_guarded(listen)], client_max_size=body_bytes)
    app.add_routes(routes)
    runner = web.AppRunner(app, shutdown_timeout=STOP_S)
    await runner.setup()
    try:
        assert runner.server is not None
        # Lines of requests are not logged: they would be the clients' text, hundreds of them a minute.
        settings = {"access_log": None, "keepalive_timeout": IDLE_S, "lingering_time": REST_S}
        make = partial(HttpConnection, runner.server, MOST_CONNECTIONS, Mishaps(log), **settings)
        sockets = await _listening(listen, make, tls)
        try:
            yield Listen(listen.host, sockets.sockets[0].getsockname()[1], listen.secret)
        finally:
            sockets.close()
    finally:
        await runner.cleanup()


async def _listening(
    listen: Listen, make: Callable[[], asyncio.BaseProtocol], tls: SSLContext | None
) -> asyncio.Server:
    try:
        loop = asyncio.get_running_loop()
        return await loop.create_server(make, listen.host, listen.port, ssl=tls)
    except OSError as error:
        # asyncio's own words are a sentence around those of the system
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise BadInput(f"cannot listen on {listen}: {why}; choose another address with --listen") from None


def _guarded(listen: Listen) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = refusal(listen, request.path, request.headers)
        if refused is not None:
            return web.Response(status=refused.status, text=f"{refused.why}\n", headers=refused.headers)
        connection = cast(HttpConnection, request.protocol)
        try:
            if request.match_info.http_exception is None:
                await _come(request)  # until then the connection has asked for nothing
            connection.answering = True
            return await handler(request)
        except web.HTTPException as error:
            return web.Response(status=error.status, text=f"{error.reason}\n")
        except web.RequestPayloadError:
            return web.Response(status=400, text="the body of this request cannot be read\n")
        finally:
            connection.answering = False

    return guard


async def _come(request: web.Request) -> None:
    """Return when all of it is here, which its handler then reads."""
    try:
        async with asyncio.timeout(BODY_S):
            await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout(reason=f"the body of this request has not come within {BODY_S:g} s") from None


class HttpConnection(web.RequestHandler):
    """aiohttp's handler, with a bound on how many there are, our headers on every answer, and few lines in the log."""

    def __init__(self, server: web.Server, most: int, mishaps: Mishaps, **settings: Any) -> None:
        """``most``: connections of the server; ``settings``: those of ``web.RequestHandler``."""
        super().__init__(server, loop=asyncio.get_running_loop(), **settings)
        self._server, self._most, self._mishaps = server, most, mishaps
        self.answering = False
        """Whether one of our routes is at work for it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Where all places are taken, close the connection that came first of those that ask for nothing now."""
        others = [each for each in cast(list[HttpConnection], self._server.connections) if each.transport is not None]
        if len(others) < self._most or _make_room(others):
            super().connection_made(transport)
        else:
            cast(asyncio.Transport, transport).abort()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Give every answer our headers, also those that no route has made."""
        if not resp.prepared:
            resp.headers.update(ANSWER_HEADERS)
        return await super().finish_response(request, resp, start_time)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no request, or one that failed, in one line that quotes nothing of it."""
        unread = status == 400
        if not isinstance(exc, ConnectionError):  # the client has gone
            self._note("a request cannot be read" if unread else "a request failed", exc)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun")
        text = "this is no request that can be read\n" if unread else "the request failed\n"
        answer = web.Response(status=status, text=text)
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Note a connection that was given up, such as one whose body breaks off."""
        self._note("a connection was given up", kw.get("exc_info"))

    def _note(self, kind: str, error: object) -> None:
        self._mishaps.note(kind, f"{type(error).__name__}: {getattr(error, 'message', error)}")


def _make_room(others: list[HttpConnection]) -> bool:
    waiting = next((each for each in others if not each.answering), None)
    if waiting is None or waiting.transport is None:
        return False
    transport = waiting.transport
    waiting.force_close()
    transport.abort()
    return True
