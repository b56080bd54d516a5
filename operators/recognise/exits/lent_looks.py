"""Looks in front of an oracle on another machine: those that no exit here is sure of cross, once, as pictures.

A look that is drawn for an audit is answered by its exit at once, and crosses in the background. Where the oracle
answers when it can, so does what crosses for its answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.base import Call
from operators.frames.frame import Frame, Region, without_picture
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.exits.lent_cuts import LentCuts
from operators.recognise.exits.node_exits import LookPlan, NodeExits, give
from operators.recognise.objects.late_looks import LateLooks, NotLooked
from operators.recognise.recogniser import Recogniser
from serving.common.tensors import Array, Image
from serving.engines.exits import ExitResult
from serving.errors import BackendDown, SluiceError, TooLate
from serving.scheduling.requests import BACKGROUND

log = logging.getLogger(__name__)

MOST_RUNS = 64
"""Runs that have not ended though their answers are out; with so many, no more looks are drawn for audits."""


class FollowedRuns:
    """Runs of one node's oracle for looks whose answers are out: they are followed to their end, and then compared."""

    def __init__(self) -> None:
        self._runs: dict[asyncio.Task[None], str] = {}
        """With the streams that they are of."""
        self._complained = False

    @property
    def has_room(self) -> bool:
        return len(self._runs) < MOST_RUNS

    def follow(self, stream: str, run: Coroutine[Any, Any, None]) -> None:
        """Let a run end by itself."""
        task = asyncio.create_task(run)
        self._runs[task] = stream
        task.add_done_callback(self._over)

    def forget(self, stream: str) -> None:
        """Give up the runs of a stream: they are not compared."""
        self._cancel([run for run, of in self._runs.items() if of == stream])

    async def settled(self) -> None:
        """Return when no run is under way."""
        if self._runs:
            await asyncio.wait(list(self._runs))

    async def close(self) -> None:
        """Give up all runs."""
        self._cancel(self._runs)
        await self.settled()

    def _cancel(self, runs: Collection[asyncio.Task[None]]) -> None:
        for run in runs:
            run.cancel()

    def _over(self, run: asyncio.Task[None]) -> None:
        """A failure costs the comparison only: the answers are out. The first is logged; the next ones are alike."""
        self._runs.pop(run, None)
        error = None if run.cancelled() else run.exception()
        if error is not None and not self._complained:
            self._complained = True
            log.warning("exits are not audited: %s", error)


class LentLooks:
    """Those of one node."""

    def __init__(self, exits: NodeExits, cut: LentCuts, recogniser: Recogniser, late: LateLooks | None = None) -> None:
        """``late``: the oracle's looks, where frames do not wait for them."""
        self._exits, self._cut, self._recogniser, self._late = exits, cut, recogniser, late
        self.runs = FollowedRuns()

    async def look(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call, plan: LookPlan
    ) -> NotLooked | None:
        """See ``LooksThrough``; the network with exits is the lender. SluiceError where the oracle fails."""
        try:
            found = await self._cut.lent(self._exits.crops(frame, regions), plan.policy, call.urgency)
        except TooLate:
            raise
        except SluiceError as error:
            self._cut.failed(error)
            return None
        looks = _LentResult(stream, frame, regions, plan, found)
        drawn = looks.sure & ~found.left & self.runs.has_room
        asked = ~found.left & ~drawn
        now, not_looked = found.left, NotLooked()
        if self._late is None and asked.any():
            try:
                now, looks = ~drawn, await self._asked(looks, np.flatnonzero(asked), call)
            except BackendDown as error:
                failed, reason = looks.at(np.flatnonzero(asked)).regions, f"another answers, proven or not: {error}"
                not_looked = NotLooked(failed=[*failed], reason=reason, error=error)
        mine = looks.at(np.flatnonzero(now))
        answers = await self._exits.answers(mine.plan, mine.found)
        give(mine.regions, answers)
        if drawn.any():
            self._send(looks.at(np.flatnonzero(drawn)))
        if mine.regions:
            self._exits.heard(stream, frame, mine.regions, mine.plan, answers)
        if self._late is not None and asked.any():
            not_looked = await self._asked_late(self._late, looks.at(np.flatnonzero(asked)), call)
        return not_looked

    async def _asked(self, looks: _LentResult, rows: NDArray[np.intp], call: Call) -> _LentResult:
        """The same once the oracle has answered for these."""
        crops = self._crops(looks, rows.tolist())
        _, scores = await self._recogniser.output(self._cut.oracle, crops, call.urgency)
        self._cut.crossings.cross(self._cut.oracle, int(looks.sure[rows].sum()))
        return replace(looks, found=_ended(looks.found, rows, scores))

    async def _asked_late(self, late: LateLooks, looks: _LentResult, call: Call) -> NotLooked:
        """Have the oracle asked for looks, and hear what it says whenever that is; returns those without a look yet."""
        self._cut.crossings.cross(self._cut.oracle, int(looks.sure.sum()))
        kept = replace(looks, frame=without_picture(looks.frame))
        return await late.look(looks.frame, looks.regions, call, partial(self._ended_late, kept))

    async def _ended_late(self, looks: _LentResult, region: Region, crop: Image, output: Array) -> None:
        row = next(row for row, each in enumerate(looks.regions) if each is region)
        await self._compare(looks.at(np.array([row])), [crop], output)

    def _send(self, drawn: _LentResult) -> None:
        """Answer looks by their exits, and have them cross."""
        said = self._exits.by_exits(drawn.plan, drawn.found)
        for region, answer in zip(drawn.regions, said, strict=True):
            assert answer is not None
            region.attributes.append(answer)
        over = self._exits.expects(drawn.stream, drawn.plan, drawn.frame, zip(drawn.regions, said, strict=True))
        crops = [crop.copy() for crop in self._crops(drawn, range(len(said)))]
        self._cut.crossings.cross(self._cut.oracle, len(said))
        kept = replace(drawn, frame=without_picture(drawn.frame))
        self.runs.follow(drawn.stream.name, self._audit(kept, crops, over))

    async def _audit(self, drawn: _LentResult, crops: Sequence[Image], over: Callable[[], None]) -> None:
        try:
            _, output = await self._recogniser.output(self._cut.oracle, crops, BACKGROUND)
            await self._compare(drawn, crops, output)
        finally:
            over()

    async def _compare(self, looks: _LentResult, crops: Sequence[Image], output: Array) -> None:
        """Take what the oracle has said of looks that are over."""
        plan, found = replace(looks.plan, late=True), _ended(looks.found, np.arange(len(output)), output)
        answers = await self._exits.answers(plan, found, crops)
        self._exits.heard(looks.stream, looks.frame, looks.regions, plan, answers)

    def _crops(self, looks: _LentResult, rows: Iterable[int]) -> list[Image]:
        return self._recogniser.crops(self._cut.oracle, looks.frame, [looks.regions[row] for row in rows])


@dataclass(frozen=True)
class _LentResult:
    """Looks of one frame, as far as the lender has come with them."""

    stream: NodeStream
    frame: Frame
    regions: Sequence[Region]
    plan: LookPlan
    found: ExitResult

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Whether an exit is sure of each."""
        found: NDArray[np.bool_] = self.found.place < len(self.found.taps)
        return found

    def at(self, rows: NDArray[np.intp]) -> _LentResult:
        """Some of them."""
        regions = [self.regions[row] for row in rows.tolist()]
        return replace(self, regions=regions, plan=self.plan.at(rows), found=self.found.at(rows))


def _ended(found: ExitResult, rows: NDArray[np.intp], scores: Array) -> ExitResult:
    """The lender's result with the oracle's scores at these rows."""
    whole = np.zeros((len(found.place), *scores.shape[1:]), scores.dtype)
    whole[rows] = scores
    return replace(found, scores=whole)
