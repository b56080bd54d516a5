"""The shortcut that runs another model: a variant of the oracle, or a smaller network."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from operators.audits.unit_costs import UnitCosts
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.shortcut import Shortcut, Turn
from operators.wire.schema import ShortcutKind
from serving.errors import ModelError, OutOfService

log = logging.getLogger(__name__)


class VariantShortcut(Shortcut):
    """Answers for every region with its model, where that is the planned one."""

    kind: ShortcutKind = "variant"
    follows_content = False

    def __init__(self, recogniser: Recogniser, model: str, costs: UnitCosts | None = None) -> None:
        """Without ``costs`` nobody knows what its model takes."""
        self._costs, self._recogniser = costs, recogniser
        self.model = model
        self.models = [model]
        self._is_there = True

    @property
    def is_there(self) -> bool:
        """Whether the model can be opened, as far as known."""
        return self._is_there

    @property
    def key(self) -> str:
        """Every model of a node has an audit of its own."""
        return self.kind if len(self._recogniser.roles.listed_shortcuts) == 1 else f"{self.kind} {self.model}"

    def is_planned(self, call: Call) -> bool:
        """Whether the decision names the model."""
        return self._is_there and call.model == self.model and call.decision.allows(self.kind)

    def may_prove_itself(self, call: Call) -> bool:
        """Whether the decision names the model, or would if it had proven itself."""
        return self._is_there and call.decision.allows(self.kind) and self._is_wanted(call)

    def _is_wanted(self, call: Call) -> bool:
        return call.model == self.model or self.model in call.decision.proving

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        """See ``Shortcut``; a model that cannot be opened any more passes everything on."""
        mine = replace(call, decision=replace(call.decision, variant=self.model))
        try:
            await self._recogniser.look(frame, regions, mine)
        except ModelError as error:
            self._is_there = isinstance(error, OutOfService)  # such a one comes back
            log.warning("%s does not answer, others do in its place: %s", self.model, error)
            return Turn((), regions, declined=f"{self.model} is not there")
        return Turn(regions, ())

    def cost_s(self, turn: Turn) -> float:
        look_s = None if self._costs is None else self._costs.look_s(self.model)
        return (look_s or 0.0) * len(turn.answered)
