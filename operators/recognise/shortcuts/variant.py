"""The shortcut that runs another model: a variant of the oracle, or a smaller network."""

from __future__ import annotations

from collections.abc import Sequence

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.account.unit_costs import UnitCosts
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.shortcut import Shortcut, Turn
from operators.wire.schema import ShortcutKind


class Variant(Shortcut):
    """Answers for every region with the planned model, unless that is the oracle."""

    kind: ShortcutKind = "variant"
    follows_content = False

    def __init__(self, recogniser: Recogniser, costs: UnitCosts | None = None) -> None:
        """Without ``costs`` nobody knows what its models take."""
        self._costs = costs
        self.models = sorted(recogniser.roles.shortcuts)
        self._recogniser = recogniser

    def is_planned(self, call: Call) -> bool:
        """Whether the plan names one of the models."""
        return call.model in self.models and call.plan.allows(self.kind)

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        """See ``Shortcut``."""
        await self._recogniser.look(frame, regions, call)
        return Turn(regions, (), token=call.model)

    def cost_s(self, turn: Turn) -> float:
        """See ``Shortcut``."""
        if self._costs is None or not isinstance(turn.token, str):
            return 0.0
        return (self._costs.look_s(turn.token) or 0.0) * len(turn.answered)
