"""The planner of a query; models that nobody has measured on this machine are measured while it plans."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from math import inf
from typing import Protocol

from pipelines.assembly.choices import Tables, choices, shortages
from pipelines.planning.planner import Planner
from pipelines.planning.replanning import Replanning
from pipelines.planning.within import Seconds, StatesAt, WithinStates
from pipelines.query.dag import Dag
from pipelines.query.nodes import NetworkNode, RecogniseNode
from serving.catalogue.cards import ModelCard
from serving.common.clock import SYSTEM, Clock, sleep
from serving.common.tensors import Array
from serving.errors import SluiceError
from serving.profiling.in_service import RUNS, RUNS_ELSEWHERE, ProfilingMoments, quiet_times
from serving.remote.endpoint.terms import is_endpoint
from serving.scheduling.requests import BACKGROUND, Urgency
from serving.selection import Requirements
from serving.variants.timings import VariantFigures, least
from serving.variants.variant import ANYWHERE, placed

log = logging.getLogger(__name__)

CHECKED_S = 30.0
"""Seconds from one look at whether a model is to be measured again to the next."""


class Measures(Protocol):
    """The engine, as far as it knows what models take."""

    def card(self, model: str) -> ModelCard:
        """The card of a model."""

    def measured(self, model: str) -> VariantFigures | None:
        """The figures measured of a model here, None for none; ModelError for those that cannot be used."""

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        """Keep the times of one more moment; returns the figures with them."""

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        """Run a model."""


@asynccontextmanager
async def planner(
    dag: Dag, engine: Measures, clock: Clock = SYSTEM, states: StatesAt | None = None
) -> AsyncIterator[Planner]:
    """The planner of a query; inside the block, models that nobody has measured are measured in the background.

    ``states``: of models now, for nodes that name none.
    """
    tables = Tables.read(dag, engine.measured)
    if not tables.nodes:
        yield Planner()
        return
    for doubt in (*tables.faults, *shortages(choices(dag, engine.measured))):
        log.warning("%s", doubt)
    tracks = {
        name: isinstance(each.spec, RecogniseNode) and each.spec.answer == "track"
        for name, each in tables.nodes.items()
    }
    plans = Replanning(dag.names, tables.ready(), tracks)
    task = asyncio.create_task(_measure(tables, plans, engine, clock))
    try:
        yield plans if states is None else WithinStates(plans, requirements(dag), partial(_seconds, tables), states)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def requirements(dag: Dag) -> dict[str, Requirements]:
    """By node that names no model, what is required at every moment; all that are listed have the accuracy."""
    specs = [node.spec for node in dag.nodes]
    needs = {each.name: each.needs for each in specs if isinstance(each, NetworkNode) and each.needs is not None}
    return {
        name: Requirements((each.latency_ms or inf) / 1000, cost=(each.cost_ms or inf) / 1000)
        for name, each in needs.items()
    }


def _seconds(tables: Tables) -> Seconds:
    return {model: each.tail_s for model, each in tables.figures.items()}


async def _measure(tables: Tables, plans: Replanning, engine: Measures, clock: Clock) -> None:
    """Measure what nobody has measured, and go on with what runs here and was measured at too few moments, or fits no
    more. A model that fails is not planned with.
    """
    for model in tables.unknown:
        await _measure_one(model, tables, plans, engine, clock)
    now_s = clock.monotonic_s()
    here = {model: found for model, found in tables.figures.items() if not _is_elsewhere(model)}
    moments = {model: ProfilingMoments(found.moments, now_s) for model, found in here.items()}
    while moments or any(map(_is_at_backend, tables.unknown)):
        await sleep(clock, CHECKED_S)
        for model in [each for each in tables.unknown if _is_at_backend(each) and each not in tables.figures]:
            await _measure_one(model, tables, plans, engine, clock)  # its backend may be back
        _follow_wire(tables, plans, engine)
        now_s = clock.monotonic_s()
        for model in [model for model, each in moments.items() if each.due(now_s, tables.ratio(model, plans))]:
            changed = await _measure_one(model, tables, plans, engine, clock)
            moments[model].measured(clock.monotonic_s(), changed)


def _is_at_backend(model: str) -> bool:
    return _is_elsewhere(model) and not is_endpoint(model)


def _is_elsewhere(model: str) -> bool:
    """Whether its calls in service tell what it takes: it is measured once, since each look there is asked for."""
    return placed(model)[1] not in (None, ANYWHERE)


def _follow_wire(tables: Tables, plans: Replanning, engine: Measures) -> None:
    """Have the planner know remote models whose calls take another time by now than they did."""
    for model, before in list(tables.figures.items()):
        found = engine.measured(model) if _is_at_backend(model) else None
        if found is not None and found.tail_s != before.tail_s:
            log.info("%s takes %s, as calls of late show", model, _in_words(before, found))
            tables.figures[model] = replace(before, tail_s=found.tail_s)
            _planned_with(model, tables, plans)


async def _measure_one(model: str, tables: Tables, plans: Replanning, engine: Measures, clock: Clock) -> bool:
    """Measure a model at one more moment, and have the planner know it; returns whether other times count now."""
    before = tables.figures.get(model)
    try:
        tail_s = await _times(engine, model, clock)
    except Exception as error:  # whatever a network raises, the next model is measured
        what = "so nothing is planned with it" if before is None else "so what was measured stays"
        log.warning("%s cannot be measured, %s: %s", model, what, error)
        return False
    try:
        found = engine.keep(model, tail_s)
    except SluiceError as error:
        log.warning("%s will be measured again: its times cannot be kept: %s", model, error)
        found = (
            VariantFigures(tail_s, None) if before is None else replace(before, tail_s=least([before.tail_s, tail_s]))
        )
    tables.figures[model] = found
    if before is not None and before.tail_s == found.tail_s:
        return False
    if before is not None:
        log.info("%s takes %s, measured at another moment", model, _in_words(before, found))
    _planned_with(model, tables, plans)
    return True


def _planned_with(model: str, tables: Tables, plans: Replanning) -> None:
    """Tell the planner the tables of the nodes that list a model."""
    for node, table in tables.ready().items():
        if model in tables.nodes[node].models:
            plans.learn(node, table)


def _in_words(before: VariantFigures, found: VariantFigures) -> str:
    smallest = min(found.tail_s)
    return f"{1000 * found.tail_s[smallest]:.1f} ms in place of {1000 * before.tail_s.get(smallest, 0.0):.1f}"


async def _times(engine: Measures, model: str, clock: Clock) -> dict[int, float]:
    async def infer(batch: Array) -> object:
        return await engine.infer(model, batch, BACKGROUND)

    runs = RUNS_ELSEWHERE if _is_elsewhere(model) else RUNS
    return await quiet_times(engine.card(model), infer, clock.monotonic_s, partial(sleep, clock), runs)
