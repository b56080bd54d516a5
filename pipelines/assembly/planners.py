"""The planner of a query, and the tables that it chooses from; models that nobody has measured here are measured."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from pipelines.planning.options import Option, Table
from pipelines.planning.planner import FirstListed, Planner
from pipelines.planning.replanning import Replanning
from pipelines.query.dag import Dag, DagNode
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.cards import ModelCard
from serving.common.clock import SYSTEM, Clock
from serving.common.tensors import Array
from serving.errors import ModelError, SluiceError
from serving.profiling.in_service import quiet_times
from serving.scheduling.latency import LatencyTable
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


@dataclass
class Tables:
    """What is known of the models of the nodes that list several."""

    engine: Measures
    nodes: Mapping[str, DagNode]
    known: dict[str, Measured] = field(default_factory=dict)
    """By model."""
    unknown: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Measurements that cannot be used, one line each."""

    @classmethod
    def read(cls, dag: Dag, engine: Measures) -> Tables:
        """Read what was measured of all models between which there is a choice."""
        nodes = {node.name: node for node in dag.nodes if isinstance(node.spec, RecogniseNode) and len(node.models) > 1}
        tables = cls(engine, nodes)
        for model in dict.fromkeys(model for node in nodes.values() for model in node.models):
            try:
                found = engine.measured(model)
            except ModelError as error:
                tables.faults.append(str(error))
                found = None
            if found is None:
                tables.unknown.append(model)
            else:
                tables.known[model] = found
        return tables

    def table(self, node: str) -> Table | None:
        """The options of a node; None as long as its first listed model was not measured: then that one runs."""
        models = self.nodes[node].models
        if models[0] not in self.known:
            return None
        return Table(tuple(_option(model, self.known[model]) for model in models if model in self.known))

    def ready(self) -> dict[str, Table]:
        """The tables that there are, by node."""
        found = {node: self.table(node) for node in self.nodes}
        return {node: table for node, table in found.items() if table is not None}


def _option(model: str, known: Measured) -> Option:
    return Option.of(model, known.agreement, LatencyTable(known.tail_s))


@asynccontextmanager
async def planner(dag: Dag, engine: Measures, clock: Clock = SYSTEM) -> AsyncIterator[Planner]:
    """The planner of a query; inside the block, models that nobody has measured are measured in the background."""
    tables = Tables.read(dag, engine)
    for fault in tables.faults:
        log.warning("%s", fault)
    if not tables.nodes:
        yield FirstListed()
        return
    tracks = {
        name: isinstance(each.spec, RecogniseNode) and each.spec.answer == "track"
        for name, each in tables.nodes.items()
    }
    plans = Replanning([node.name for node in dag.nodes], tables.ready(), tracks)
    task = asyncio.create_task(_measure(tables, plans, clock))
    try:
        yield plans
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _measure(tables: Tables, plans: Replanning, clock: Clock) -> None:
    """Measure what nobody has measured, and have the planner know it; a model that fails is not planned with."""
    for model in tables.unknown:
        try:
            tail_s = await _times(tables.engine, model, clock)
            tables.known[model] = Measured(tail_s, None)
            tables.engine.keep(model, tail_s)
        except SluiceError as error:
            log.warning("%s cannot be measured, so nothing is planned with it: %s", model, error)
        for node, table in tables.ready().items():
            if model in tables.nodes[node].models:
                plans.learn(node, table)


async def _times(engine: Measures, model: str, clock: Clock) -> dict[int, float]:
    async def infer(batch: Array) -> object:
        return await engine.infer(model, batch, BACKGROUND)

    return await quiet_times(engine.card(model), infer, clock.monotonic_s)
