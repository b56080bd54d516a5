"""An engine whose one network has seen all pictures beforehand: looks take no time, but are charged what was measured.

A picture is a colour that tells its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.catalogue.cards import ImageInput, ModelCard
from serving.common.tensors import Array, Image
from serving.engines.exits import ExitResult, RowPolicy
from serving.engines.groups import GroupRequest
from serving.engines.row_passage import RowPassage
from serving.graphs.surgery.sizes import Size
from serving.scheduling.requests import PriceAt, Urgency, free

Places = tuple[int, ...]
"""Which of the cuts have exits that are asked."""
SIDE = 32


@dataclass(frozen=True)
class Recorded:
    """The network's outputs for all pictures, and what a look costs."""

    taps: Mapping[str, Array]
    """By cut tensor, in dataflow order, N × values."""
    scores: Array
    leave_s: Mapping[Places, Sequence[float]]
    """By places that are asked: seconds of a look that leaves at each of them, then of one that leaves at none."""
    whole_s: float


class RecordedEngine:
    """See ``Inference``; it is cut at all recorded tensors or not at all."""

    def __init__(self, card: ModelCard, recorded: Recorded) -> None:
        self._card, self._recorded = card, recorded
        self._cut = "+".join([card.name, *recorded.taps])
        self.spent_s = 0.0
        """For all looks so far."""

    def card(self, model: str) -> ModelCard:
        return self._card

    def place_of(self, model: str, price: PriceAt = free) -> str:
        return model

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        return self._card

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        assert tuple(cuts) == tuple(self._recorded.taps)
        return self._cut

    async def load(self, model: str) -> float:
        return 0.0

    async def infer(
        self,
        model: str,
        batch: NDArray[Any],
        urgency: Urgency,
        policy: RowPolicy | None = None,
    ) -> list[NDArray[Any]]:
        """Charges the looks."""
        numbers = numbers_of(batch, self._card.input)
        if model == self._cut:
            return self._through_cuts(numbers, GroupRequest(model, batch, policy=policy))
        self.spent_s += self._recorded.whole_s * len(numbers)
        return [self._recorded.scores[numbers]]

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        return self._recorded.leave_s[()][0] if model == self._cut else self._recorded.whole_s

    def _through_cuts(self, numbers: NDArray[np.intp], asked: GroupRequest) -> list[NDArray[Any]]:
        known, cuts = self._recorded, tuple(self._recorded.taps)
        passage, there = RowPassage([asked], cuts), list(range(len(numbers)))
        taps = [tap[numbers] for tap in known.taps.values()]
        for cut, tap in enumerate(taps):
            leaving = passage.hear(cut, there, tap[there])
            there = there if leaving is None else [row for row, left in zip(there, leaving, strict=True) if not left]
        (outputs,) = passage.results(known.scores[numbers], taps)
        found, exits = ExitResult.of(outputs), asked.policy.exits if asked.policy else None
        places = tuple(place for place, cut in enumerate(cuts) if exits is not None and cut in exits.by_cut)
        for place, left in zip(found.place.tolist(), found.left.tolist(), strict=True):
            self.spent_s += known.leave_s[places][places.index(place) if left else len(places)]
        return outputs


def picture(number: int) -> Image:
    """The picture of this number, below 65,536."""
    blue_green_red = np.array([0, number >> 8, number & 255], np.uint8)
    return np.broadcast_to(blue_green_red, (SIDE, SIDE, 3)).copy()


def numbers_of(batch: NDArray[Any], size: ImageInput) -> NDArray[np.intp]:
    """The numbers of prepared pictures (N × red, green, blue × rows × columns)."""
    mean, std = (np.broadcast_to(np.asarray(each, float), 3) for each in (size.mean, size.std))
    red, green, _ = np.rint((batch[:, :, 0, 0] * std + mean) / size.scale).astype(np.intp).T
    found: NDArray[np.intp] = 256 * green + red
    return found
