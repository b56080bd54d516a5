"""One adaptation worker process: exits, the process that trains them, and what that may cost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.learned.job import CHILD, NAME
from cache_adapt.learned.kind import ExitsKind, NodeNetwork
from learning.budget import Budget
from learning.job_runner import JobRunner
from operators.observer import Observers
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import stop_loop_on_signals
from pipelines.worker.adapt.service import Service, ServiceConfig

AT_ONCE_S = 60.0
"""Processor seconds that may be spent at once; further ones as time passes."""


async def adapt(
    config: ServiceConfig,
    networks: Mapping[str, NodeNetwork],
    share: float,
    listen: Listen | None = None,
) -> None:
    """Adapt until a signal comes. ``networks``: by the names of their nodes.

    ``share``: of one core, what training may use; ``listen``: where metrics and health are served; None: nowhere.
    """
    if listen is None:
        await _adapt(config, networks, share)
        return
    from pipelines.observe.station import Station  # aiohttp and Prometheus

    station = Station(listen)
    async with station.open():
        await _adapt(replace(config, observers=Observers(station.observers)), networks, share)


async def _adapt(config: ServiceConfig, networks: Mapping[str, NodeNetwork], share: float) -> None:
    runner = JobRunner(CHILD, NAME)
    adaptation = Adaptation(ExitsKind(runner.run, networks), allowance(share))
    try:
        with stop_loop_on_signals() as stop:
            await Service(config, adaptation).run(stop)
    finally:
        await runner.close()


def allowance(share: float) -> Budget:
    """Processor time for training: a share of one core over all passed time, and ``AT_ONCE_S`` in advance."""
    began_s = time.monotonic() - AT_ONCE_S / share
    return Budget(share, lambda: time.monotonic() - began_s)
