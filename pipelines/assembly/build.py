"""Builds the executor of a query: one for all streams."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.assembly.environment import Environment
from pipelines.assembly.node import nodes
from pipelines.execute.executor import Executor
from pipelines.execute.frame_room import ByteBudget, FrameRoom
from pipelines.execute.surroundings import FinalStep, Limits, Surroundings
from pipelines.planning.planner import FirstListed, Planner
from pipelines.query.compiled import CompiledQuery
from pipelines.query.look_ahead import streams_ahead, unhurried
from pipelines.query.query_file import DEFAULT_MAX_WIDTH, Query
from pipelines.settings import decoded_memory


async def build_executor(
    wanted: CompiledQuery,
    environment: Environment,
    final_steps: Sequence[FinalStep] = (),
    planner: Planner | None = None,
) -> Executor:
    """An executor that is ready for frames; ``environment``: the query's, whose engine must have been started.

    Without ``planner`` it is planned for every frame that the first listed models run.
    """
    query, audits = wanted.query, environment.audits
    operators = await nodes(wanted.dag, environment)
    policies = {stream.id: stream.overload_policy for stream in query.streams}
    listeners = [] if audits is None else [audits.shortcuts.published]
    limits = Limits(policies, frame_room(query), streams_ahead(query), unhurried(query))
    surroundings = Surroundings(final_steps, environment.clock, environment.observer, listeners)
    return Executor(wanted.dag, operators, planner or FirstListed(), limits, surroundings)


def frame_room(query: Query) -> FrameRoom:
    """The memory for decoded frames, and the size up to which each stream's frames are decoded."""
    widths = {stream.id: stream.max_width for stream in query.streams}
    return FrameRoom(ByteBudget(decoded_memory()), widths, max(widths.values(), default=DEFAULT_MAX_WIDTH))
