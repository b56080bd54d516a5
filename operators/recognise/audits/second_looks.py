"""Looks of another network than the one that answered, at the very same pictures, once their frame is published.

A variant needs them, and exits in front of an oracle elsewhere; else an exit's answer is compared with the end's of the
same run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from learning.budget import Budget
from operators.audits.unit_costs import UnitCosts
from operators.background import Backlog, PendingLook
from operators.recognise.audits.crossings import Crossings
from operators.recognise.recogniser import Recogniser
from operators.wire.schema import Attribute, FrameId
from serving.common.tensors import Array, Image
from serving.scheduling.requests import BACKGROUND


@dataclass(frozen=True, slots=True, eq=False)
class ModelCrop:
    """A picture, and the network that is to look at it."""

    model: str
    crop: Image
    """A copy: a view would keep the whole frame in memory."""

    @property
    def nbytes(self) -> int:
        return self.crop.nbytes


class SeenCrop(NamedTuple):
    """A network's look at one picture."""

    answer: Attribute
    output: Array
    """Its first output, 1 × …"""


class CropLooks(Backlog[ModelCrop, SeenCrop]):
    """Those of one node; the budget of learning pays them, and crossings those of networks on other machines."""

    def __init__(
        self, recogniser: Recogniser, costs: UnitCosts, budget: Budget, crossings: Crossings | None = None
    ) -> None:
        """``crossings``: None where all networks are here."""
        self._recogniser, self._costs, self._budget, self._crossings = recogniser, costs, budget, crossings
        super().__init__(self._see, "a second network cannot audit")

    def may_look(self, model: str, looks: int = 1) -> bool:
        """Whether so many more looks may be begun: there is room, and they can be paid."""
        if self._crossings is not None and not self._crossings.may_cross(model, looks):
            return False
        return self.has_room and self._budget.may_spend(looks * self._look_s(model))

    @property
    def can_ever_pay(self) -> bool:
        return self._budget.share > 0

    def ask(self, frame: FrameId, asked: ModelCrop, on_seen: Callable[[SeenCrop | None], None]) -> None:
        """Look once the frame is published; ``on_seen`` is called with None where the look is given up."""
        self._budget.spend("audits", self._look_s(asked.model))
        if self._crossings is not None:
            self._crossings.cross(asked.model, 1)
        self.hold(frame, [PendingLook(asked, on_seen, partial(on_seen, None))])

    async def _see(self, asked: ModelCrop) -> SeenCrop:
        place, output = await self._recogniser.output(asked.model, [asked.crop], BACKGROUND)
        (answer,) = await self._recogniser.named(asked.model, place, output)
        return SeenCrop(answer, output)

    def _look_s(self, model: str) -> float:
        return self._costs.look_s(model) or 0.0
