"""A network whose answers go out while their batch runs on (Dai et al., 2024 [Apparate], §3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.groups import GroupRequest, Solo, shared_out, together
from serving.engines.network import run_in_steps


class Releasing(Solo):
    """One network with exits that release."""

    def __init__(self, network: ExitNetwork) -> None:
        super().__init__(network)
        self._exits = network

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        """All requests as one batch; each hears early of its items once all of them are answered."""
        batches = [each.batch for each in asked]
        early, starts = EarlyAnswers(asked), count(0, step)
        outputs = run_in_steps(lambda part: self._run(part, next(starts), early), together(batches), step)
        return shared_out(outputs, batches)

    def _run(self, part: Array, start: int, early: EarlyAnswers) -> list[Array]:
        return self._exits.run(part, partial(early.take, start))


class EarlyAnswers:
    """The items of a batch that are answered so far; hands the outputs of a request over when it has all of them."""

    def __init__(self, asked: Sequence[GroupRequest]) -> None:
        self._asked = asked
        self._owner = [place for place, each in enumerate(asked) for _ in each.batch]
        self._held: list[dict[int, list[Array]]] = [{} for _ in asked]
        """For each request, by item: a row of every output."""

    def take(self, start: int, items: NDArray[np.intp], outputs: Sequence[Array]) -> None:
        """Take items that are answered, each once; ``start``: where the part of the batch begins in which they are."""
        for row, item in enumerate((items + start).tolist()):
            request, held = self._asked[self._owner[item]], self._held[self._owner[item]]
            held[item] = [output[row] for output in outputs]
            if len(held) == len(request.batch) and request.early is not None:
                request.early([np.stack(rows) for rows in zip(*(held[each] for each in sorted(held)), strict=True)])
