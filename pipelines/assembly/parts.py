"""A query as running parts, for a run as for a worker: what is opened here is closed here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cache_adapt.audit.state import Rule
from operators.observer import UNOBSERVED, Observers
from pipelines.assembly.build import build_executor
from pipelines.assembly.planners import planner
from pipelines.assembly.shortcuts import Shortcuts
from pipelines.environment import backend
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import FinalStep, Surroundings
from pipelines.planning.planner import Planner
from pipelines.query.compiled import CompiledQuery
from pipelines.query.nodes import is_planned, learns
from pipelines.query.query_file import DetectNode, NodeSpec, RecogniseNode
from serving.common.clock import SYSTEM, Clock
from specialization.trainer.trainer import Specializer

if TYPE_CHECKING:
    from cache_adapt.adaptation.elsewhere import Elsewhere
    from pipelines.assembly.chains import Chains


@dataclass(frozen=True)
class Parts:
    """What an assembled query consists of."""

    executor: Executor
    shortcuts: Shortcuts


@dataclass(frozen=True)
class Setting:
    """What a run and a worker do differently."""

    trainer: Specializer
    """Who trains heads; closed at the end."""
    final_steps: Sequence[FinalStep] = ()
    close_s: float = 0.0
    """How long audits that wait may take once there are no more frames."""
    rule: Rule | None = None
    """What audits demand; None: what the query says."""
    clock: Clock = SYSTEM
    observers: Observers = UNOBSERVED
    elsewhere: Elsewhere | None = None
    """Trains heads in place of ``trainer``."""
    planned_by: Callable[[Planner], Planner] = lambda planner: planner
    """What stands in front of the query's planner."""


@asynccontextmanager
async def assembled(wanted: CompiledQuery, setting: Setting) -> AsyncIterator[Parts]:
    """An executor that is ready for frames; audits are finished and networks are stopped when the block ends."""
    shortcuts, engine = Shortcuts(wanted.query.name), backend(wanted.catalogue, setting.observers)
    surroundings = Surroundings(setting.final_steps, setting.clock, setting.observers)
    async with _chains(wanted, setting, shortcuts) as chains:
        await engine.start()
        try:
            async with planner(wanted.dag, engine, setting.clock) as plans:
                planned_by = setting.planned_by(plans)
                yield Parts(await build_executor(wanted, engine, chains, surroundings, planned_by), shortcuts)
        finally:
            await shortcuts.close(setting.close_s)
            await engine.stop()


@asynccontextmanager
async def _chains(wanted: CompiledQuery, setting: Setting, shortcuts: Shortcuts) -> AsyncIterator[Chains | None]:
    """What makes operators that are audited, and None where the query has no node for them; closes the trainer."""
    if not any(learns(node.spec) for node in wanted.dag.nodes):
        try:
            yield _audited_only(wanted, setting, shortcuts)
        finally:
            await setting.trainer.close()
        return
    from pipelines.assembly.chains import Chains
    from pipelines.assembly.head_training import head_training

    async with head_training(wanted.catalogue, setting.trainer, setting.elsewhere) as training:
        yield Chains(shortcuts, _rule(wanted, setting), training, setting.observers)


def _audited_only(wanted: CompiledQuery, setting: Setting, shortcuts: Shortcuts) -> Chains | None:
    """For nodes of which none learns."""
    if not any(_is_audited(node.spec) for node in wanted.dag.nodes):
        return None
    from pipelines.assembly.chains import Chains  # brings statistics: not for those who only detect and track

    return Chains(shortcuts, _rule(wanted, setting), observer=setting.observers)


def _rule(wanted: CompiledQuery, setting: Setting) -> Rule:
    return setting.rule or Rule(wanted.query.accuracy)


def _is_audited(spec: NodeSpec) -> bool:
    if isinstance(spec, DetectNode):
        return spec.when == "needed" or is_planned(spec)
    return isinstance(spec, RecogniseNode)
