"""Calls to a backend count what goes over the wire, for those who pay for it."""

from __future__ import annotations

import grpc
import pytest

from serving.catalogue.lookup import Catalogue
from serving.common.wire_use import counting
from serving.errors import BackendDown
from serving.remote.client import server_channel
from tests.serving.remote.client.conftest import Connected
from tests.serving.remote.client.test_backend_client import PICTURES, SOON, ours
from tests.serving.remote.v2_server import serving


@pytest.mark.parametrize("is_here", [False, True])
async def test_pictures_and_answers_count_and_nothing_of_what_stays_on_the_machine(
    catalogue: Catalogue, connected: Connected, monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    monkeypatch.setattr(server_channel, "is_here", lambda target: is_here)
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        await client.load("means")
        with counting() as use:
            await client.infer("means", PICTURES, SOON)
        assert use.calls == 1
        assert (use.bytes == 0) if is_here else (PICTURES.nbytes < use.bytes < PICTURES.nbytes + 2000)


async def test_calls_that_fail_count_as_often_as_they_were_made(
    catalogue: Catalogue, connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_channel, "is_here", lambda target: False)
    server = ours(catalogue)
    async with serving(server), connected(server) as client:
        await client.load("means")
        before, server.fails = len(server.asked), grpc.StatusCode.INTERNAL
        with counting() as use, pytest.raises(BackendDown):
            await client.infer("means", PICTURES, SOON)
        assert use.calls == len(server.asked) - before > 0
        assert use.bytes > PICTURES.nbytes
