"""Looks in front of an oracle on another machine: those that no exit here is sure of cross, once, as pictures.

A look that is drawn for an audit is answered by its exit at once, and crosses in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.exits.followed_runs import FollowedRuns
from operators.recognise.exits.lent_cuts import LentCuts
from operators.recognise.exits.node_exits import LookPlan, NodeExits, give
from operators.recognise.recogniser import Recogniser
from serving.common.tensors import Array, Image
from serving.engines.exits import ExitResult
from serving.errors import SluiceError, TooLate
from serving.scheduling.requests import BACKGROUND


class LentLooks:
    """Those of one node."""

    def __init__(self, exits: NodeExits, cut: LentCuts, recogniser: Recogniser) -> None:
        self._exits, self._cut, self._recogniser = exits, cut, recogniser
        self.runs = FollowedRuns("exits are not audited")

    async def look(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call, plan: LookPlan
    ) -> bool:
        """Append a look to every region; False where the lender fails. SluiceError where the oracle does."""
        try:
            found = await self._cut.lent(self._exits.crops(frame, regions), plan.policy, call.urgency)
        except TooLate:
            raise
        except SluiceError as error:
            self._cut.failed(error)
            return False
        sure = found.place < len(self._cut.places)
        drawn = sure & ~found.left & self.runs.has_room
        asked, at_once = np.flatnonzero(~found.left & ~drawn), np.flatnonzero(~drawn)
        if len(asked):
            scores = await self._cut.ends(self._crops(frame, regions, asked), call.urgency)
            self._cut.crossings.cross(self._cut.oracle, int(sure[asked].sum()))
            found = _ended(found, asked, scores)
        answers = await self._exits.answers(plan, found.at(at_once))
        mine = [regions[row] for row in at_once.tolist()]
        give(mine, answers)
        if drawn.any():
            rows = np.flatnonzero(drawn)
            self._send(_Drawn(stream, frame, [regions[row] for row in rows.tolist()], plan, found.at(rows)))
        if mine:
            self._exits.heard(stream, frame, mine, plan, answers)
        return True

    def _send(self, drawn: _Drawn) -> None:
        """Answer looks by their exits, and have them cross."""
        said = self._exits.early(drawn.plan, drawn.found)
        for region, answer in zip(drawn.regions, said, strict=True):
            assert answer is not None
            region.attributes.append(answer)
        over = self._exits.expects(drawn.stream, drawn.plan, drawn.frame, zip(drawn.regions, said, strict=True))
        crops = [crop.copy() for crop in self._crops(drawn.frame, drawn.regions, range(len(said)))]
        self._cut.crossings.cross(self._cut.oracle, len(said))
        self.runs.follow(self._compare(drawn, crops, over))

    async def _compare(self, drawn: _Drawn, crops: Sequence[Image], over: Callable[[], None]) -> None:
        try:
            scores = await self._cut.ends(crops, BACKGROUND)
            result = _ended(drawn.found, np.arange(len(crops)), scores)
            plan = replace(drawn.plan, late=True)
            answers = await self._exits.answers(plan, result)
            self._exits.heard(drawn.stream, drawn.frame, drawn.regions, plan, answers)
        finally:
            over()

    def _crops(self, frame: Frame, regions: Sequence[Region], rows: Iterable[int]) -> list[Image]:
        return self._recogniser.crops(self._cut.oracle, frame, [regions[row] for row in rows])


@dataclass(frozen=True)
class _Drawn:
    """Looks of one frame that are audited."""

    stream: NodeStream
    frame: Frame
    regions: Sequence[Region]
    plan: LookPlan
    found: ExitResult
    """The lender's."""


def _ended(found: ExitResult, rows: NDArray[np.intp], scores: Array) -> ExitResult:
    """The lender's result with the oracle's scores at these rows."""
    whole = np.zeros((len(found.place), *scores.shape[1:]), scores.dtype)
    whole[rows] = scores
    return replace(found, scores=whole)
