"""Looks in front of an oracle on another machine: those that no exit here is sure of cross, once, as pictures.

A look that is drawn for an audit is answered by its exit at once, and crosses in the background. Where the oracle
answers when it can, so does what crosses for its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from operators.base import Call
from operators.frames.frame import Frame, Region, without_picture
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.exits.lent_cuts import LentCuts
from operators.recognise.exits.node_exits import ExitLooks, LookPlan, NodeExits
from operators.recognise.objects.late_looks import LateLooks, NotLooked
from operators.recognise.recogniser import Recogniser
from serving.common.tensors import Array, Image
from serving.errors import BackendDown


class LentLooks:
    """Those of one node."""

    def __init__(self, exits: NodeExits, cut: LentCuts, recogniser: Recogniser, late: LateLooks | None = None) -> None:
        """``late``: the oracle's looks, where frames do not wait for them."""
        self._exits, self._cut, self._recogniser, self._late = exits, cut, recogniser, late

    async def look(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call, plan: LookPlan
    ) -> NotLooked | None:
        """See ``NodeExits``; the network with exits is the lender. SluiceError where the oracle fails."""
        found = await self._exits.ran(frame, regions, call, replace(plan.policy, to_end=False))
        if found is None:
            return None
        looks, sure = self._exits.looks(stream, frame, regions, plan, found), found.place < len(found.taps)
        drawn = sure & ~found.left & self._exits.may_ask
        asked = np.flatnonzero(~found.left & ~drawn)
        crossing, now, not_looked = int(sure[asked].sum()), found.left, NotLooked()
        if self._late is None and len(asked):
            try:
                looks, now = await self._asked(looks, asked, call), ~drawn
                self._cut.crossings.cross(self._cut.oracle, crossing)
            except BackendDown as error:
                not_looked = NotLooked.down(looks.at(asked).regions, error)
        mine, later = looks.at(np.flatnonzero(now)), looks.at(np.flatnonzero(drawn))
        for each in (mine, later):
            each.give()
        if later.regions:
            self._exits.ask(later)
        if mine.regions:
            self._exits.heard(mine)
        if self._late is not None and len(asked):
            # What exits were sure of crosses for an audit; the other looks would cross anyway.
            self._cut.crossings.cross(self._cut.oracle, crossing)
            kept = replace(looks.at(asked), frame=without_picture(frame))
            not_looked = await self._late.look(frame, kept.regions, call, partial(self._ended_late, kept))
        return not_looked

    async def _asked(self, looks: ExitLooks, rows: NDArray[np.intp], call: Call) -> ExitLooks:
        """The same once the oracle has answered for these."""
        crops = self._recogniser.crops(self._cut.oracle, looks.frame, [looks.regions[row] for row in rows.tolist()])
        _, scores = await self._recogniser.output(self._cut.oracle, crops, call.urgency)
        return await self._exits.with_ends(looks, rows, scores)

    async def _ended_late(self, looks: ExitLooks, region: Region, crop: Image, output: Array) -> None:
        """Hear what the oracle says of a look, whenever that is."""
        row = next(row for row, each in enumerate(looks.regions) if each is region)
        mine = replace(looks.at(np.array([row])), crops=[crop])
        self._exits.heard(await self._exits.with_ends(mine, np.arange(1), output))
