"""The planner of a query; models that nobody has measured on this machine are measured while it plans."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from pipelines.assembly.choices import choices, shortages
from pipelines.assembly.tables import Tables
from pipelines.planning.planner import FirstListed, Planner
from pipelines.planning.replanning import Replanning
from pipelines.query.dag import Dag
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.cards import ModelCard
from serving.common.clock import SYSTEM, Clock
from serving.common.tensors import Array
from serving.errors import SluiceError
from serving.profiling.in_service import quiet_times
from serving.scheduling.urgency import BACKGROUND, Urgency
from serving.variants.timings import Measured

log = logging.getLogger(__name__)


class Measures(Protocol):
    """The engine, as far as it knows what models take."""

    def card(self, model: str) -> ModelCard:
        """The card of a model."""
        ...

    def measured(self, model: str) -> Measured | None:
        """What was measured of a model here, None for nothing; ModelError for what cannot be used."""
        ...

    def keep(self, model: str, tail_s: Mapping[int, float]) -> None:
        """Keep what was measured."""
        ...

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        """Run a model."""
        ...


@asynccontextmanager
async def planner(dag: Dag, engine: Measures, clock: Clock = SYSTEM) -> AsyncIterator[Planner]:
    """The planner of a query; inside the block, models that nobody has measured are measured in the background."""
    tables = Tables.read(dag, engine.measured)
    if not tables.nodes:
        yield FirstListed()
        return
    for doubt in (*tables.faults, *shortages(choices(dag, engine.measured))):
        log.warning("%s", doubt)
    tracks = {
        name: isinstance(each.spec, RecogniseNode) and each.spec.answer == "track"
        for name, each in tables.nodes.items()
    }
    plans = Replanning([node.name for node in dag.nodes], tables.ready(), tracks)
    task = asyncio.create_task(_measure(tables, plans, engine, clock))
    try:
        yield plans
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _measure(tables: Tables, plans: Replanning, engine: Measures, clock: Clock) -> None:
    """Measure what nobody has measured, and have the planner know it; a model that fails is not planned with."""
    for model in tables.unknown:
        try:
            tables.known[model] = Measured(await _times(engine, model, clock), None)
        except Exception as error:  # whatever a network raises, the next model is measured
            log.warning("%s cannot be measured, so nothing is planned with it: %s", model, error)
            continue
        for node, table in tables.ready().items():
            if model in tables.nodes[node].models:
                plans.learn(node, table)
        try:
            engine.keep(model, tables.known[model].tail_s)
        except SluiceError as error:
            log.warning("%s will be measured again: its times cannot be kept: %s", model, error)


async def _times(engine: Measures, model: str, clock: Clock) -> dict[int, float]:
    async def infer(batch: Array) -> object:
        return await engine.infer(model, batch, BACKGROUND)

    return await quiet_times(engine.card(model), infer, clock.monotonic_s, asyncio.sleep)
