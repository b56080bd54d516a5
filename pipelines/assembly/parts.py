"""A query as running parts, for a run as for a worker: what is opened here is closed here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cache_adapt.audit.state import Rule
from learning.budget import Budget, Spent
from operators.base import Operator
from operators.observer import UNOBSERVED, Observer, Observers
from operators.publish.track_events import Lifecycles
from operators.publish.zone_events import ZoneRules
from operators.zones.presence import Hysteresis
from pipelines.assembly.engine import FleetTools, QueryEngine, engine_of
from pipelines.assembly.environment import Audits, Environment, learning
from pipelines.assembly.node import nodes
from pipelines.assembly.planners import Measures, planner, requirements
from pipelines.assembly.registry import Shortcuts
from pipelines.environment import artefacts_dir
from pipelines.execute.executor import Executor
from pipelines.execute.frame_room import ByteBudget, FrameRoom
from pipelines.execute.lanes import Lanes
from pipelines.execute.surroundings import FinalStep, Limits, Surroundings
from pipelines.measure.process_meter import ModelStates, ProcessMeter
from pipelines.measure.stand_ins.planner import WithStandIns
from pipelines.measure.stand_ins.stand_ins import StandIns
from pipelines.planning.planner import Planner
from pipelines.planning.stage_shares import Curves, unknown
from pipelines.planning.within import WithinBudgets
from pipelines.process.signals import Stop, unless_stopped
from pipelines.process.tasks import meanwhile
from pipelines.query.dag import CompiledQuery
from pipelines.query.look_ahead import streams_ahead, unhurried
from pipelines.query.nodes import DetectNode, NodeSpec, RecogniseNode, is_planned
from pipelines.query.query_file import DEFAULT_MAX_WIDTH, Query
from pipelines.settings import decoded_memory
from serving.common.clock import SYSTEM, Clock
from serving.errors import ModelError

if TYPE_CHECKING:
    from cache_adapt.adaptation.elsewhere import Elsewhere
    from serving.backend import Backend


PlannedBy = Callable[[Planner], Planner]
"""Wraps a planner."""


@dataclass(frozen=True)
class Parts:
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
    local: Backend | None = None
    """The networks of this process, where other queries use them too."""
    lanes: Lanes | None = None
    """The lanes of its streams, where other queries share them."""
    meter: ProcessMeter | None = None
    """Counts what the networks run that other queries use too."""
    spent: Spent = field(default_factory=dict)
    """The cost of learning in this process, by all of its queries."""
    background: bool = False
    """Whether networks look at its frames only while no other frame waits for them."""
    stop: Stop = field(default_factory=Stop)
    """Gives up networks that are being loaded: ``SystemExit``."""


@dataclass(frozen=True)
class Household:
    """A query's surroundings, in which its operators are built."""

    shortcuts: Shortcuts
    engine: QueryEngine
    environment: Environment
    """In which nodes pay for their calls, where the query has budgets."""
    measures: Measures
    within: PlannedBy
    """Has a planner choose within the query's budgets."""
    states: ModelStates | None
    """For nodes that name no model."""
    stand_ins: StandIns


@asynccontextmanager
async def assembled(wanted: CompiledQuery, setting: Setting) -> AsyncIterator[Parts]:
    """An executor that is ready for frames; audits are finished and networks are stopped when the block ends."""
    async with housed(wanted, setting) as house:
        operators = await unless_stopped(setting.stop, nodes(wanted.dag, house.environment))
        async with executing(wanted, setting, house, operators) as parts:
            yield parts


@asynccontextmanager
async def housed(wanted: CompiledQuery, setting: Setting) -> AsyncIterator[Household]:
    """The networks, budgets and audits of a query, while the block runs."""
    shortcuts = Shortcuts(wanted.query.name)
    meter = setting.meter or ProcessMeter() if requirements(wanted.dag) else None
    watching = setting.observers if meter is None else Observers([setting.observers, meter])
    engine = engine_of(wanted, watching, setting.local, setting.fleet)
    stand_ins = StandIns(wanted, artefacts_dir(), engine, setting.clock)
    async with _audits(wanted, setting, shortcuts, stand_ins) as audits, AsyncExitStack() as afterwards:
        more = dict[str, Any](audits=audits, clock=setting.clock, observer=setting.observers)
        more |= {"stand_ins": stand_ins.by_node, "stands_in": stand_ins.proven}
        environment = Environment.of(wanted, stand_ins.engine, **more)
        await engine.start()
        try:
            budgeted = afterwards.enter_context(_budgets(wanted, environment, engine))
            states = None if meter is None else ModelStates(meter, engine.is_placed)
            await afterwards.enter_async_context(_looking(stand_ins, audits))
            yield Household(shortcuts, engine, *budgeted, states, stand_ins)
        finally:
            await shortcuts.close(setting.close_s)
            await engine.stop()


@asynccontextmanager
async def executing(
    wanted: CompiledQuery, setting: Setting, house: Household, operators: Mapping[str, Operator]
) -> AsyncIterator[Parts]:
    """The executor of these operators; models that nobody has measured are measured while the block runs."""
    states = None if house.states is None else house.states.at
    async with planner(wanted.dag, house.measures, setting.clock, states) as plans:
        chooses = WithStandIns(plans, house.stand_ins.of) if house.stand_ins.by_node else plans
        planned = setting.planned_by(house.within(chooses))
        executor = executor_of(wanted, house.environment, operators, setting, planned, _curves(house.engine))
        yield Parts(executor, house.shortcuts, house.engine.hung)


@asynccontextmanager
async def _looking(stand_ins: StandIns, audits: Audits | None) -> AsyncIterator[None]:
    """Look for stand-ins while the block runs, where the query may have some."""
    if not stand_ins.by_node or audits is None:
        yield
        return
    async with meanwhile(stand_ins.run(audits.budget)):
        yield


@contextmanager
def _budgets(
    wanted: CompiledQuery, environment: Environment, engine: QueryEngine
) -> Iterator[tuple[Environment, Measures, PlannedBy]]:
    if not wanted.query.has_budgets:
        yield environment, engine, lambda planner: planner
        return
    from pipelines.assembly.spending import spending  # what most queries do without

    found = spending(wanted, environment)
    try:
        paying, measures = replace(environment, engines=found.engines), found.measuring(wanted.dag.nodes, engine)
        yield paying, measures, lambda planner: WithinBudgets(planner, found.paid)
    finally:
        found.close()


@asynccontextmanager
async def _audits(
    wanted: CompiledQuery, setting: Setting, shortcuts: Shortcuts, stand_ins: StandIns
) -> AsyncIterator[Audits | None]:
    """None where the query has no node for them."""
    query, specs = wanted.query, [node.spec for node in wanted.dag.nodes]
    rule = setting.rule or Rule(query.accuracy)
    budget = Budget.beside(query.learning.budget, time.process_time, setting.spent)
    if query.takes_exits:
        async with learning(wanted.catalogue, budget, setting.elsewhere) as found:
            yield Audits(shortcuts, rule, found, budget)
        return
    audited = bool(stand_ins.by_node) or any(map(_is_audited, specs))
    yield Audits(shortcuts, rule, budget=budget) if audited else None


def executor_of(
    wanted: CompiledQuery,
    environment: Environment,
    operators: Mapping[str, Operator],
    setting: Setting,
    planned: Planner,
    curves: Curves = unknown,
) -> Executor:
    """An executor that is ready for frames; ``environment``: the query's, whose engine has been started."""
    query, audits = wanted.query, environment.audits
    policies = {stream.id: stream.overload_policy for stream in query.streams}
    listeners = [] if audits is None else [audits.shortcuts.published]
    room = FrameRoom() if setting.lanes else frame_room([query])
    limits = Limits(policies, room, streams_ahead(query), unhurried(query), setting.lanes)
    clock, observer = environment.clock, environment.observer
    surroundings = Surroundings(setting.final_steps, clock, observer, listeners, curves, setting.background)
    return Executor(wanted.dag, operators, planned, limits, surroundings)


def _curves(engine: Measures) -> Curves:
    """Times of models as far as they were measured here, or at their backends."""

    def known(model: str) -> Mapping[int, float] | None:
        try:
            found = engine.measured(model)
        except ModelError:
            return None
        return None if found is None else found.tail_s

    return known


def frame_room(queries: Sequence[Query], budget: ByteBudget | None = None) -> FrameRoom:
    """The memory for decoded frames, and the size up to which each stream's frames are decoded.

    Where several queries list a stream, the largest one counts.
    """
    widths: dict[str, int] = {}
    for stream in (stream for query in queries for stream in query.streams):
        widths[stream.id] = max(stream.max_width, widths.get(stream.id, 0))
    widest = max(widths.values(), default=DEFAULT_MAX_WIDTH)
    return FrameRoom(budget or ByteBudget(decoded_memory()), widths, widest)


def lifecycles(query: Query, observer: Observer = UNOBSERVED) -> Lifecycles:
    """Makes events of the query's results; ``observer`` hears of them."""
    events = query.publish.events
    zones = ZoneRules(query.layout, Hysteresis(events.settle_s, events.margin), events.count_every_s)
    return Lifecycles(events.update_every_s, events.end_after_s, zones, observer)


def _is_audited(spec: NodeSpec) -> bool:
    if isinstance(spec, DetectNode):
        return spec.when == "needed" or is_planned(spec)
    return isinstance(spec, RecogniseNode)
