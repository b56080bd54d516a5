from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession
from prometheus_client import CollectorRegistry, generate_latest

from operators.wire.schema import FleetPlacement, WantedBackends
from pipelines.observe.web.listen import listen_on
from pipelines.observe.web.server import serving
from pipelines.schedule.numbers import FleetNumbers, heeded
from tests.pipelines.schedule.fleets import AT

TWO = [WantedBackends(device="cpu", wanted=21, running=20), WantedBackends(device="gpu", wanted=0, running=1)]


def placement(wanted: list[WantedBackends]) -> FleetPlacement:
    return FleetPlacement(epoch=7, at=AT, leader="s", wanted=wanted, workers=3)


@asynccontextmanager
async def answering(found: FleetPlacement | None, secret: str | None = None) -> AsyncIterator[str]:
    numbers = FleetNumbers(lambda: found, lambda: True)
    async with serving(listen_on("127.0.0.1:0", secret), numbers.routes) as at:
        yield f"http://{at}"


async def got(url: str, **headers: str) -> tuple[int, str]:
    async with ClientSession() as http, http.get(url, headers=headers) as answer:
        return answer.status, await answer.text()


async def test_an_autoscaler_reads_a_value() -> None:
    async with answering(placement(TWO)) as at:
        assert await got(f"{at}/wanted/backends?kind=cpu") == (
            200,
            '{"value": 21, "wanted": 21, "running": 20, "kind": "cpu", "epoch": 7}',
        )
        assert '"value": 23' in (await got(f"{at}/wanted/backends?kind=cpu&tolerance=0.1"))[1]
        assert '"value": 0' in (await got(f"{at}/wanted/backends?kind=gpu&tolerance=0.1"))[1]
        assert await got(f"{at}/wanted/workers") == (200, '{"value": 3, "epoch": 7}')
        assert (await got(f"{at}/placement"))[1].startswith('{"schema":"sluice.placement/1","epoch":7')


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("", 404, "known: cpu, gpu"),
        ("?kind=tpu", 404, "no such kind of device"),
        ("?kind=cpu&tolerance=much", 400, "tolerance must be a number from 0 to 0.5"),
        ("?kind=cpu&tolerance=nan", 400, "tolerance"),
        ("?kind=cpu&tolerance=2", 400, "tolerance"),
    ],
)
async def test_what_cannot_be_answered(query: str, status: int, says: str) -> None:
    async with answering(placement(TWO)) as at:
        code, text = await got(f"{at}/wanted/backends{query}")
        assert code == status
        assert says in text


async def test_the_only_kind_need_not_be_named_and_nothing_is_wanted_before_a_placement() -> None:
    async with answering(placement(TWO[:1])) as at:
        assert (await got(f"{at}/wanted/backends"))[0] == 200
    async with answering(None) as at:
        for path in ("backends", "workers"):
            assert (await got(f"{at}/wanted/{path}"))[0] == 503


async def test_a_kind_whose_name_is_no_word_is_spelled_out() -> None:
    odd = [WantedBackends(device=name, wanted=1, running=1) for name in ("a\r\nb", "\u202ec")]
    async with answering(placement(odd)) as at:
        code, text = await got(f"{at}/wanted/backends")
    assert (code, text.strip()) == (404, r"give kind=KIND: no such kind of device; known: a\r\nb, \u202ec")


async def test_a_secret_is_asked_for() -> None:
    secret = "s" * 20
    async with answering(placement(TWO), secret) as at:
        assert (await got(f"{at}/wanted/workers"))[0] == 401
        assert (await got(f"{at}/wanted/workers", Authorization=f"Bearer {secret}"))[0] == 200


def test_metrics_tell_the_same() -> None:
    registry = CollectorRegistry()
    registry.register(FleetNumbers(lambda: placement(TWO), lambda: False))
    lines = generate_latest(registry).decode().splitlines()
    for line in (
        'sluice_fleet_wanted_backends{device="cpu"} 21.0',
        'sluice_fleet_wanted_backends_heeded{device="cpu"} 23.0',
        'sluice_fleet_running_backends{device="gpu"} 1.0',
        "sluice_fleet_wanted_workers 3.0",
        "sluice_fleet_epoch 7.0",
        "sluice_fleet_shed_items 0.0",
        "sluice_fleet_leads 0.0",
    ):
        assert line in lines


@pytest.mark.parametrize("running", range(1, 200))
def test_one_more_is_heeded_by_what_ignores_a_tenth(running: int) -> None:
    value = heeded(running + 1, running)
    assert abs(value / running - 1) > 0.1
    assert value <= max(running + 1, running * 1.1 + 1)
