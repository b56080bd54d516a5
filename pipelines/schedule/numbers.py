"""The numbers that are wanted, for autoscalers: as JSON and as metrics; and the scheduler process that serves them.

KEDA's ``metrics-api`` reads ``value`` of the JSON. What scales by a ratio, as Kubernetes' HPA does and KEDA through it,
ignores changes below a tolerance, so that 20 never become 21: ``tolerance`` asks for the least number that is heeded.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from operators.observer import Observers
from operators.wire.schema import FleetPlacement, to_json
from pipelines.observe.metrics import families
from pipelines.observe.metrics.tallies import metric
from pipelines.observe.station import Station
from pipelines.observe.watchers import HeartbeatFile
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import stop_loop_on_signals
from pipelines.process.tasks import unless
from pipelines.schedule.service import ScheduleConfig, SchedulerService
from serving.common.untrusted import printable

TOLERANCE = 0.1
"""That of Kubernetes, unless it is told another one."""
MOST_TOLERANCE = 0.5
FindPlacement = Callable[[], FleetPlacement | None]


def heeded(wanted: int, running: int, tolerance: float = TOLERANCE) -> int:
    """The least number from ``wanted`` on that an autoscaler heeds which ignores changes below a tolerance.

    A smaller number is not rounded: what is too little to be heeded costs less than the tolerance.

    >>> heeded(21, 20), heeded(23, 20), heeded(2, 1), heeded(19, 20), heeded(21, 20, tolerance=0)
    (23, 23, 2, 19, 21)
    """
    if wanted <= running:
        return wanted
    return max(wanted, math.floor(running * (1 + tolerance) + 1e-9) + 1 if tolerance else wanted)


class FleetNumbers(Collector):
    """Answers for the placement that holds."""

    def __init__(self, find: FindPlacement, leads: Callable[[], bool]) -> None:
        self._find, self._leads = find, leads

    @property
    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/wanted/backends", self._backends),
            web.get("/wanted/workers", self._workers),
            web.get("/placement", self._placement),
        ]

    async def _backends(self, request: web.Request) -> web.Response:
        placement = self._found()
        kind = request.query.get("kind")
        counts = {each.device: each for each in placement.wanted}
        if kind is None and len(counts) == 1:
            kind = next(iter(counts))
        if kind not in counts:
            known = printable(", ".join(sorted(counts)) or "none", 400)
            raise web.HTTPNotFound(reason=f"give kind=KIND: no such kind of device; known: {known}")
        found = counts[kind]
        value = heeded(found.wanted, found.running, tolerance(request))
        return web.json_response(
            {"value": value, "wanted": found.wanted, "running": found.running, "kind": kind, "epoch": placement.epoch}
        )

    async def _workers(self, request: web.Request) -> web.Response:
        placement = self._found()
        return web.json_response({"value": placement.workers, "epoch": placement.epoch})

    async def _placement(self, request: web.Request) -> web.Response:
        return web.Response(body=to_json(self._found()), content_type="application/json")

    def _found(self) -> FleetPlacement:
        found = self._find()
        if found is None:
            raise web.HTTPServiceUnavailable(reason="there is no placement yet")
        return found

    def collect(self) -> Iterator[Metric]:
        """The same as gauges."""
        yield metric(families.FLEET_LEADS, [((), float(self._leads()))])
        found = self._find()
        if found is None:
            return
        kinds = found.wanted
        yield metric(families.FLEET_WANTED, [((each.device,), each.wanted) for each in kinds])
        yield metric(families.FLEET_HEEDED, [((each.device,), heeded(each.wanted, each.running)) for each in kinds])
        yield metric(families.FLEET_RUNNING, [((each.device,), each.running) for each in kinds])
        yield metric(families.FLEET_WORKERS, [((), found.workers)])
        yield metric(families.FLEET_EPOCH, [((), found.epoch)])
        yield metric(families.FLEET_SHED, [((), sum(each.rate for each in found.shed))])


def tolerance(request: web.Request) -> float:
    """The one that a reader asks for; 0 where it asks for none."""
    text = request.query.get("tolerance", "0")
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= MOST_TOLERANCE:
        raise web.HTTPBadRequest(reason=f"tolerance must be a number from 0 to {MOST_TOLERANCE}")
    return found


async def schedule(config: ScheduleConfig, listen: Listen, alive: Path | None) -> None:
    """Schedule until a signal comes; raises Unavailable or BadInput."""
    service = SchedulerService(config)
    with stop_loop_on_signals() as stop:
        async with serving_numbers(service, listen, alive):
            await unless(stop, service.run())


@asynccontextmanager
async def serving_numbers(service: SchedulerService, listen: Listen, alive: Path | None) -> AsyncIterator[None]:
    """Answer over HTTP while the block runs; BadInput where it cannot listen there."""
    station, numbers = Station(listen), FleetNumbers(lambda: service.placement, lambda: service.leads)
    station.beside(numbers)
    service.condition = Observers([HeartbeatFile(alive), *station.observers])
    async with station.open(numbers.routes):
        yield
