"""One adaptation worker process: the kinds of artefacts, who trains them, and what that may cost."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from operators.recognise.cached.cache_kind import CacheKind
from operators.recognise.specialised.head_kinds import HeadKind, RatesKind, TrainingSamples

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.trainable import Trainable
from learning.budget import Budget
from learning.job_runner import JobRunner
from operators.observer import Observers
from pipelines.assembly.caches import CHILD, NAME
from pipelines.observe.web.listen import Listen
from pipelines.process.signals import stop_loop_on_signals
from pipelines.worker.adapt.nodes import Adapted
from pipelines.worker.adapt.service import Service, ServiceConfig
from specialization.trainer.trainer import ProcessSpecializer

AT_ONCE_S = 60.0
"""Processor seconds that may be spent at once; further ones as time passes."""


async def adapt(
    config: ServiceConfig, what: Adapted, accuracy: float, share: float, listen: Listen | None = None
) -> None:
    """Adapt until a signal comes. ``accuracy``: the query's; ``share``: of one core, what training may use.

    ``listen``: where metrics and health are served; None: nowhere.
    """
    if listen is None:
        await _adapt(config, what, accuracy, share)
        return
    from pipelines.observe.station import Station  # aiohttp and Prometheus

    station = Station(listen)
    async with station.open():
        await _adapt(replace(config, observers=Observers(station.observers)), what, accuracy, share)


async def _adapt(config: ServiceConfig, what: Adapted, accuracy: float, share: float) -> None:
    trainer, builder = ProcessSpecializer(), JobRunner(CHILD, NAME)
    with tempfile.TemporaryDirectory(prefix="sluice-adapt-") as scratch:
        samples = TrainingSamples(what.templates, Path(scratch))
        kinds: list[Trainable] = [
            HeadKind(samples, trainer),
            RatesKind(samples, trainer),
            CacheKind(what.oracles, builder, Path(scratch)),
        ]
        try:
            with stop_loop_on_signals() as stop:
                await Service(config, Adaptation(kinds, allowance(share), accuracy)).run(stop)
        finally:
            await trainer.close()
            await builder.close()


def allowance(share: float) -> Budget:
    """Processor time for training: a share of one core over all passed time, and ``AT_ONCE_S`` in advance."""
    began_s = time.monotonic() - AT_ONCE_S / share
    return Budget(share, lambda: time.monotonic() - began_s)
