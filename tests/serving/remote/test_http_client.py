"""The client of HTTP: what it does once it is closed."""

from __future__ import annotations

import pytest
from aiohttp import web

from serving.remote.http_client import HttpClient, HttpTerms, NotReached
from tests.real.ports import free_port


@pytest.mark.parametrize("asked_before", [True, False])
async def test_it_opens_no_connection_once_it_is_closed(asked_before: bool) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        asked.append(request.path)
        return web.Response()

    asked: list[str] = []
    runner, port = web.ServerRunner(web.Server(answer)), free_port()
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    client = HttpClient(f"http://127.0.0.1:{port}", HttpTerms(30.0, 1, 100))
    try:
        if asked_before:
            assert (await client.request("GET", "/before", None, {})).status == 200
        await client.close()
        with pytest.raises(NotReached, match="no connection: it was closed"):
            await client.request("GET", "/after", None, {})
        await client.close()
    finally:
        await runner.cleanup()
    assert asked == ["/before"] * asked_before
