"""How far the rows of a batch have come in a network with cuts: who looks at each, what was said, and who has left.

Batches have a few rows: lists of Python cost less than arrays of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from serving.common.tensors import Array
from serving.engines.exits import Exit, ExitResult
from serving.engines.groups import GroupRequest


class RowPassage:
    """The rows of some requests, one after the other, each with the policy of its request."""

    def __init__(self, asked: Sequence[GroupRequest], cuts: Sequence[str]) -> None:
        """``cuts``: in dataflow order; the policies fit them."""
        self._cuts = cuts
        self._spans = [slice(*ends) for ends in pairwise(accumulate((len(each.batch) for each in asked), initial=0))]
        self._classes = [each.policy.exits.classes if each.policy and each.policy.exits else 0 for each in asked]
        count = self._spans[-1].stop
        self._place, self._left, self._leaves = [len(cuts)] * count, [False] * count, [True] * count
        self._stops = [False] * count
        """Rows that go no further than the last cut."""
        self._said = np.zeros((count, max(self._classes)), np.float32)
        self._lookers: list[dict[tuple[int, int], tuple[Exit, list[bool]]]] = [{} for _ in cuts]
        """By cut: who looks there, and at which rows; requests with the same exit are looked at together."""
        for request, rows in zip(asked, self._spans, strict=True):
            self._enter(request, rows)

    def hear(self, cut: int, there: Sequence[int], tap: NDArray[np.float32]) -> list[bool] | None:
        """Let the exits at a cut look at the rows that are there, as far as they are undecided.

        ``tap``: one row for each that is there. Returns which of them go no further; None: all run on.
        """
        stops = self._stops if cut == len(self._cuts) - 1 else ()
        for (_, classes), (exit_, mine) in self._lookers[cut].items():
            shown = [at for at, row in enumerate(there) if mine[row] and self._place[row] == len(self._cuts)]
            if not shown:
                continue
            found = exit_.look(tap if len(shown) == len(there) else tap[shown])
            for said, at in enumerate(shown):
                if found.hit[said]:
                    row = there[at]
                    self._place[row], self._left[row] = cut, self._leaves[row]
                    self._said[row, :classes] = found.distribution[said]
        leaving = [self._left[row] or (bool(stops) and stops[row]) for row in there]
        return leaving if True in leaving else None

    def results(self, scores: Array, taps: Sequence[Array]) -> list[list[Array]]:
        """``ExitResult`` of every request as a list, from the outputs for all rows."""
        return [
            self._result(place, scores[rows], [tap[rows] for tap in taps]) for place, rows in enumerate(self._spans)
        ]

    def _enter(self, request: GroupRequest, rows: slice) -> None:
        policy = request.policy
        if policy is not None and not policy.to_end:
            self._stops[rows] = [True] * len(request.batch)
        if policy is None or policy.exits is None:
            return
        if policy.leaves is not None:
            self._leaves[rows] = policy.leaves.tolist()
        for lookers, cut in zip(self._lookers, self._cuts, strict=True):
            if (exit_ := policy.exits.by_cut.get(cut)) is not None:
                key = id(exit_), policy.exits.classes
                _, mine = lookers.setdefault(key, (exit_, [False] * len(self._place)))
                mine[rows] = [True] * len(request.batch)

    def _result(self, place: int, scores: Array, taps: Sequence[Array]) -> list[Array]:
        rows = self._spans[place]
        where, left = np.array(self._place[rows], np.int32), np.array(self._left[rows], np.bool_)
        return ExitResult(scores, where, left, self._said[rows, : self._classes[place]], taps).as_list()
