"""What a process with and without a page answers at its root."""

from __future__ import annotations

import logging

import pytest
from aiohttp import ClientSession

from pipelines.observe.live.page import Page
from pipelines.observe.station import Station
from pipelines.observe.web.listen import Listen
from tests.real.ports import free_port


async def root(page: Page | None) -> tuple[int, str, str]:
    listen = Listen("127.0.0.1", free_port())
    async with Station(listen, page).open(), ClientSession() as client, client.get(f"http://{listen}/") as answer:
        return answer.status, answer.headers["Content-Type"], await answer.text()


async def test_a_process_without_a_page_says_what_it_serves_and_where_the_page_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        status, kind, text = await root(None)
    assert (status, kind) == (200, "text/html; charset=utf-8")
    for place in ("metrics", "healthz", "readyz"):
        assert f'href="{place}"' in text
    assert "sluice serve" in text
    assert caplog.messages[0].startswith("serving metrics and health at http://127.0.0.1:")


async def test_a_process_with_a_page_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        _, _, text = await root(Page("yard"))
    assert 'src="static/app.js"' in text
    assert caplog.messages[0].startswith("serving the page at http://127.0.0.1:")
