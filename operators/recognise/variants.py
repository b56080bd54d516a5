"""A variant of the oracle, or another network that the query lists: it may answer in the oracle's place."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.recogniser import Recogniser
from operators.wire.schema import ShortcutKind
from serving.errors import ModelError, OutOfService

log = logging.getLogger(__name__)


class VariantShortcut:
    """Answers for every region, where it is the planned network."""

    kind: ShortcutKind = "variant"

    def __init__(self, recogniser: Recogniser, model: str) -> None:
        self._recogniser, self.model = recogniser, model
        self.models: Sequence[str] = [model]
        self.is_there = True
        """Whether it can be opened, as far as is known."""

    @property
    def key(self) -> str:
        """Every network of a node has an audit of its own."""
        return f"{self.kind} {self.model}"

    def proves_itself(self, call: Call) -> bool:
        """Whether the decision names it, or would if it had proven itself."""
        wanted = call.model == self.model or self.model in call.decision.proving
        return self.is_there and call.decision.allows(self.kind) and wanted

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> bool:
        """Append a look to every region; False where the network cannot be opened any more."""
        mine = replace(call, decision=replace(call.decision, variant=self.model))
        try:
            await self._recogniser.look(frame, regions, mine)
        except ModelError as error:
            self.is_there = isinstance(error, OutOfService)  # such a one comes back
            log.warning("%s does not answer, others do in its place: %s", self.model, error)
            return False
        return True
