"""Answers that go out as soon as exits are sure of all looks of a frame, while the oracle runs on (Dai et al., 2024
[Apparate], §3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.exits.followed_runs import FollowedRuns
from operators.recognise.exits.node_exits import ExitLooks, LookPlan, NodeExits, give
from operators.recognise.objects.late_looks import NotLooked
from serving.common.tensors import Array
from serving.engines.exits import ExitResult
from serving.errors import BudgetSpent, SluiceError, TooLate


class ReleasedLooks:
    """Those of one node; all looks run on, and are compared."""

    def __init__(self, exits: NodeExits) -> None:
        self._exits = exits
        self.runs = FollowedRuns("what exits have said early cannot be compared")

    async def look(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call, plan: LookPlan
    ) -> NotLooked | None:
        """See ``NodeExits.look``."""
        on = replace(plan, policy=replace(plan.policy, leaves=np.zeros(len(regions), np.bool_)))
        if plan.acting is None or not self.runs.has_room:
            return await self._exits.look(stream, frame, regions, call, on)
        early: asyncio.Future[list[Array]] = asyncio.get_running_loop().create_future()
        crops = self._exits.crops(frame, regions)
        whole = asyncio.ensure_future(self._exits.cut.run(crops, on.policy, call.urgency, early))
        try:
            both: list[asyncio.Future[Any]] = [early, whole]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            whole.cancel()
            raise
        answers = self._exits.early(on, ExitResult.of(early.result())) if early.done() else [None] * len(regions)
        over = self._exits.expects(stream, on, frame, zip(regions, answers, strict=True))
        for region, said in zip(regions, answers, strict=True):
            if said is not None:
                region.attributes.append(said)
        run = asyncio.create_task(self._follow(_Released(stream, frame, regions, on, over), whole))
        if not early.done():
            return await self._ended(run, regions)
        self.runs.follow(stream.name, run)
        return NotLooked()

    async def _ended(self, run: asyncio.Task[ExitLooks], regions: Sequence[Region]) -> NotLooked | None:
        """Answer at the network's end; None where it failed."""
        try:
            give(regions, await run)
        except (TooLate, BudgetSpent):
            raise
        except SluiceError as error:
            self._exits.cut.failed(error)
            return None
        return NotLooked()

    async def _follow(self, look: _Released, whole: asyncio.Future[ExitResult]) -> ExitLooks:
        """Compare what exits have said with what the end says, once the run has ended."""
        try:
            answers = await self._exits.answers(look.plan, await whole)
            self._exits.heard(look.stream, look.frame, look.regions, look.plan, answers)
            return answers
        finally:
            look.over()


@dataclass(frozen=True)
class _Released:
    stream: NodeStream
    frame: Frame
    regions: Sequence[Region]
    plan: LookPlan
    over: Callable[[], None]
    """Tells the audits that the oracle has answered."""
