"""The last link of a chain: answers for all remaining regions, and checks answers of shortcuts."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.frames.halfway import Halfway
from operators.recognise.recogniser import Recogniser
from operators.wire.schema import Attribute
from serving.common.tensors import Image
from serving.errors import SluiceError, TooLate
from serving.scheduling.requests import BACKGROUND, Urgency

log = logging.getLogger(__name__)


class Oracle:
    """The reference model of a node, run by its recogniser."""

    def __init__(self, recogniser: Recogniser) -> None:
        self.name = recogniser.roles.oracle
        self._recogniser = recogniser

    async def prepare(self) -> None:
        """Make the node's models ready."""
        await self._recogniser.prepare()

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Mapping[str, str]:
        """Append to every region what the oracle says, sure or not; it goes on where a shortcut has begun with it.

        Returns what was declined of the decision.
        """
        if not regions:
            return {}
        (model, declined), halfway = self._model(call), call.halfway
        if halfway is None or not await self._go_on(halfway, model, regions, call.urgency):
            decision = replace(call.decision, variant=model)
            await self._recogniser.look(frame, regions, replace(call, decision=decision))
        return declined

    async def _go_on(self, halfway: Halfway, model: str, regions: Sequence[Region], urgency: Urgency) -> bool:
        """Answer from where the first layers have ended; False where they were not run, or the rest does not answer."""
        if not halfway.has(model, regions):
            return False
        try:
            looks = await self._recogniser.go_on(model, halfway.rest, halfway.rows(regions), urgency)
        except TooLate:
            raise
        except SluiceError as error:
            log.warning("%s begins with its first layer: %s", model, error)
            return False
        if looks is None:
            return False
        halfway.resumed += len(regions)
        for region, look in zip(regions, looks, strict=True):
            region.attributes.append(look)
        return True

    def accept(self, regions: Sequence[Region]) -> None:
        """Turn the last attribute of every region, which is a look, into an answer to publish."""
        self._recogniser.accept(regions)

    def crops(self, frame: Frame, regions: Sequence[Region]) -> list[Image]:
        """Return the oracle's crop of each region, as views into the frame's image."""
        return self._recogniser.crops(self.name, frame, regions)

    async def look(self, crop: Image) -> Attribute:
        """Return what the oracle says of a crop, sure or not, in the background."""
        (answer,) = await self._recogniser.name(self.name, [crop], BACKGROUND)
        return answer

    def accepted(self, look: Attribute) -> Attribute:
        """Return a look as it would be published by itself."""
        return self._recogniser.accepted(look)

    def certainty(self, look: Attribute) -> float:
        """Return the probability that a look is right, 0…1."""
        return self._recogniser.certainty(look)

    def _model(self, call: Call) -> tuple[str, Mapping[str, str]]:
        """Return the oracle by the name in the decision, if that names the oracle; and what is declined."""
        roles, model = self._recogniser.roles, call.model
        if model is None or model in roles.shortcuts:
            return self.name, {}
        if model not in roles.models:
            return self.name, {"variant": f"{model} is not a model of this node"}
        return model, {}
