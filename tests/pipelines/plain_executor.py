"""An executor without audits, budgets and choices."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.assembly.environment import Environment
from pipelines.assembly.node import nodes
from pipelines.assembly.parts import Setting, executor_of
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import FinalStep
from pipelines.planning.planner import Planner
from pipelines.query.dag import CompiledQuery


async def build_executor(
    wanted: CompiledQuery, environment: Environment, final_steps: Sequence[FinalStep] = ()
) -> Executor:
    """Plans for every frame that the first listed models run; the environment's engine must have been started."""
    operators = await nodes(wanted.dag, environment)
    return executor_of(wanted, environment, operators, Setting(final_steps), Planner())
