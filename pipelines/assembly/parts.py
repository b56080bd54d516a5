"""A query as running parts, for a run as for a worker: what is opened here is closed here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from cache_adapt.audit.state import Rule
from learning.budget import Budget
from operators.observer import UNOBSERVED, Observer, Observers
from operators.publish.track_events import Lifecycles
from operators.publish.zone_events import ZoneRules
from operators.zones.presence import Hysteresis
from pipelines.assembly.engine import FleetTools, QueryEngine, engine_of
from pipelines.assembly.environment import Audits, Environment, learning
from pipelines.assembly.node import nodes
from pipelines.assembly.planners import Measures, planner
from pipelines.assembly.registry import Shortcuts
from pipelines.execute.executor import Executor
from pipelines.execute.frame_room import ByteBudget, FrameRoom
from pipelines.execute.surroundings import FinalStep, Limits, Surroundings
from pipelines.planning.planner import FirstListed, Planner
from pipelines.query.compiled import CompiledQuery
from pipelines.query.look_ahead import streams_ahead, unhurried
from pipelines.query.nodes import is_planned
from pipelines.query.query_file import DEFAULT_MAX_WIDTH, DetectNode, NodeSpec, Query, RecogniseNode
from pipelines.settings import decoded_memory
from serving.common.clock import SYSTEM, Clock

if TYPE_CHECKING:
    from cache_adapt.adaptation.elsewhere import Elsewhere


PlannedBy = Callable[[Planner], Planner]
"""Wraps a planner."""


@dataclass(frozen=True)
class Parts:
    """The parts of an assembled query."""

    executor: Executor
    shortcuts: Shortcuts
    hung: asyncio.Event
    """Is set once a network did not return and cannot be ended: all frames fail from then on."""


@dataclass(frozen=True)
class Setting:
    """The differences between a run and a worker."""

    final_steps: Sequence[FinalStep] = ()
    close_s: float = 0.0
    """How long audits that wait may take once there are no more frames."""
    rule: Rule | None = None
    """The audits' demands; None: the query's."""
    clock: Clock = SYSTEM
    observers: Observers = UNOBSERVED
    elsewhere: Elsewhere | None = None
    """Makes exits in place of this process."""
    planned_by: PlannedBy = lambda planner: planner
    """Wraps the query's planner."""
    fleet: FleetTools | None = None
    """Where calls to backends are counted, and who is to be asked."""


@asynccontextmanager
async def assembled(wanted: CompiledQuery, setting: Setting) -> AsyncIterator[Parts]:
    """An executor that is ready for frames; audits are finished and networks are stopped when the block ends."""
    shortcuts, engine = Shortcuts(wanted.query.name), engine_of(wanted, setting.observers, setting.fleet)
    async with _audits(wanted, setting, shortcuts) as audits, AsyncExitStack() as afterwards:
        environment = Environment.of(wanted, engine, audits=audits, clock=setting.clock, observer=setting.observers)
        await engine.start()
        try:
            budgets = afterwards.enter_context(_budgets(wanted, environment, engine))
            async with planner(wanted.dag, budgets.measures, setting.clock) as plans:
                planned_by = setting.planned_by(budgets.within(plans))
                executor = await build_executor(wanted, budgets.environment, setting.final_steps, planned_by)
                yield Parts(executor, shortcuts, engine.hung)
        finally:
            await shortcuts.close(setting.close_s)
            await engine.stop()


class _Budgeted(NamedTuple):
    """The query's budgets, if it has any, where they are kept."""

    environment: Environment
    """In which nodes pay for their calls."""
    measures: Measures
    within: PlannedBy
    """Has a planner choose within them."""


@contextmanager
def _budgets(wanted: CompiledQuery, environment: Environment, engine: QueryEngine) -> Iterator[_Budgeted]:
    if not wanted.query.has_budgets:
        yield _Budgeted(environment, engine, lambda planner: planner)
        return
    from pipelines.assembly.spending import spending  # what most queries do without
    from pipelines.planning.within_budgets import WithinBudgets

    found = spending(wanted, environment)
    try:
        paying, measures = replace(environment, engines=found.engines), found.measuring(wanted.dag.nodes, engine)
        yield _Budgeted(paying, measures, lambda planner: WithinBudgets(planner, found.paid))
    finally:
        found.close()


@asynccontextmanager
async def _audits(wanted: CompiledQuery, setting: Setting, shortcuts: Shortcuts) -> AsyncIterator[Audits | None]:
    """None where the query has no node for them."""
    query, specs = wanted.query, [node.spec for node in wanted.dag.nodes]
    rule = setting.rule or Rule(query.accuracy)
    budget = Budget.beside(query.learning.budget, time.process_time)
    if query.takes_exits:
        async with learning(wanted.catalogue, budget, query.accuracy, setting.elsewhere) as found:
            yield Audits(shortcuts, rule, found, budget)
        return
    yield Audits(shortcuts, rule, budget=budget) if any(map(_is_audited, specs)) else None


async def build_executor(
    wanted: CompiledQuery,
    environment: Environment,
    final_steps: Sequence[FinalStep] = (),
    planned_by: Planner | None = None,
) -> Executor:
    """An executor that is ready for frames; ``environment``: the query's, whose engine must have been started.

    Without ``planned_by`` it is planned for every frame that the first listed models run.
    """
    query, audits = wanted.query, environment.audits
    operators = await nodes(wanted.dag, environment)
    policies = {stream.id: stream.overload_policy for stream in query.streams}
    listeners = [] if audits is None else [audits.shortcuts.published]
    limits = Limits(policies, frame_room(query), streams_ahead(query), unhurried(query))
    surroundings = Surroundings(final_steps, environment.clock, environment.observer, listeners)
    return Executor(wanted.dag, operators, planned_by or FirstListed(), limits, surroundings)


def frame_room(query: Query) -> FrameRoom:
    """The memory for decoded frames, and the size up to which each stream's frames are decoded."""
    widths = {stream.id: stream.max_width for stream in query.streams}
    return FrameRoom(ByteBudget(decoded_memory()), widths, max(widths.values(), default=DEFAULT_MAX_WIDTH))


def lifecycles(query: Query, observer: Observer = UNOBSERVED) -> Lifecycles:
    """Makes events of the query's results; ``observer`` hears of them."""
    events = query.publish.events
    zones = ZoneRules(query.layout, Hysteresis(events.settle_s, events.margin), events.count_every_s)
    return Lifecycles(events.update_every_s, events.end_after_s, zones, observer)


def _is_audited(spec: NodeSpec) -> bool:
    if isinstance(spec, DetectNode):
        return spec.when == "needed" or is_planned(spec)
    return isinstance(spec, RecogniseNode)
