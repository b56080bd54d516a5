"""Calls go by the placement, to servers that have loaded the network; without one, or without those, as ever."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AsyncExitStack
from random import Random

import grpc
import numpy as np
import pytest

from serving.catalogue.lookup import Catalogue
from serving.remote.client.backend_client import BackendClient, ClientTools
from serving.remote.client.pick import PlacedRates, pick
from serving.scheduling.requests import Urgency
from tests.serving.remote.client.conftest import Connected
from tests.serving.remote.v2_server import V2Server, means_of_ours, serving
from tests.turns import until

PICTURES = np.zeros((1, 4, 4, 3), np.uint8)
CALLS = 40


def ours(catalogue: Catalogue, process: str, *loaded: str) -> V2Server:
    return V2Server({"means": means_of_ours(catalogue.find("means").card)}, process=process, loaded=loaded)


async def asked(client: BackendClient, *servers: V2Server) -> list[int]:
    """How many of some calls each server was asked."""
    before = [len(each.asked) for each in servers]
    for _ in range(CALLS):
        await client.infer("means", PICTURES, Urgency(time.monotonic() + 30, slo_s=0.5))
    return [len(each.asked) - count for each, count in zip(servers, before, strict=True)]


async def test_a_placement_says_who_is_asked_until_that_one_is_gone(catalogue: Catalogue, connected: Connected) -> None:
    named, other, cold = ours(catalogue, "a", "means"), ours(catalogue, "b", "means"), ours(catalogue, "c")
    placed = PlacedRates()
    async with AsyncExitStack() as stack:
        for server in (named, other, cold):
            await stack.enter_async_context(serving(server))
        async with connected(named, other, cold, tools=ClientTools(placed=placed)) as client:
            await client.load("means")
            assert all(await asked(client, named, other, cold))  # nobody has placed anything
            assert client.is_placed("means") is None
            placed.take(1, {"means": {"a": 10.0, "c": 10.0}, "others": {"b": 1.0}})
            await until(lambda: sum("means" in each.loaded for each in client._servers.askable()) == 2)
            assert await asked(client, named, other, cold) == [CALLS, 0, 0]  # c has not loaded it yet
            assert (client.is_placed("means"), client.is_placed("others")) == (True, False)
            cold.loaded = ["means"]
            await until(lambda: sum("means" in each.loaded for each in client._servers.askable()) == 3)
            a, b, c = await asked(client, named, other, cold)
            assert (a + c, b) == (CALLS, 0)
            assert min(a, c) > 0
            cold.loaded = []
            await until(lambda: sum("means" in each.loaded for each in client._servers.askable()) == 2)
            await named.stop()
            await until(lambda: len(client._servers.askable()) == 2)
            assert await asked(client, other, cold) == [CALLS, 0]
            assert client.is_placed("means") is False, "who has it is gone, or has not loaded it"
            placed.take(2, {})
            assert all(await asked(client, other, cold))


async def test_a_call_leaves_the_named_ones_where_they_fail(catalogue: Catalogue, connected: Connected) -> None:
    named, other = ours(catalogue, "a", "means"), ours(catalogue, "b", "means")
    placed = PlacedRates(1, {"means": {"a": 1.0}})
    async with serving(named), serving(other), connected(named, other, tools=ClientTools(placed=placed)) as client:
        await client.load("means")
        await until(lambda: all(each.loaded for each in client._servers.askable()))
        named.fails = grpc.StatusCode.UNAVAILABLE
        assert (await asked(client, other))[0] == CALLS


@pytest.mark.parametrize("loaded", [["x" * 513], [f"n{number}" for number in range(1025)]])
async def test_an_index_out_of_bounds_is_none(catalogue: Catalogue, connected: Connected, loaded: list[str]) -> None:
    lying = ours(catalogue, "a", "means", *loaded)
    placed = PlacedRates(1, {"means": {"a": 1.0}})
    async with serving(lying), connected(lying, tools=ClientTools(placed=placed)) as client:
        await client.load("means")
        await until(lambda: client._servers.askable()[0].process == "a")
        assert client._servers.askable()[0].loaded == frozenset()
        assert await asked(client, lying) == [CALLS]


async def test_what_is_asked_is_counted(catalogue: Catalogue, connected: Connected) -> None:
    server, tools = ours(catalogue, "a", "means"), ClientTools()
    async with serving(server), connected(server, tools=tools) as client:
        await client.load("means")
        assert not tools.meter.sessions  # in the background
        await asked(client, server)
        (counts,) = tools.meter.sessions.values()
        assert (counts.asked, counts.served, counts.late, counts.calls) == (CALLS, CALLS, 0, CALLS)
        assert counts.slo_s > 1


def test_parts_of_the_load() -> None:
    rng, idle = Random(3), 0
    drawn = Counter(pick([idle, idle, idle], rng, [6.0, 3.0, 1.0]) for _ in range(3000))
    assert drawn[0] > drawn[1] > drawn[2] > 0
    assert pick([7, 9], Random(1), [1.0, 8.0]) == 1
