"""Second looks at frames: a model finds objects on them once their results have been sent, without delaying frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from operators.background import Backlog
from operators.base import Call, Operator, ask
from operators.decision import Decision
from operators.frames.frame import Region, frame_of
from operators.frames.planes import Pixels
from operators.wire.schema import FrameId
from serving.scheduling.requests import BACKGROUND

AUDITED = FrameId("audit", "", 0)


@dataclass(frozen=True, slots=True, eq=False)
class ModelPicture:
    """A picture, and the model that is to look at it."""

    model: str
    pixels: Pixels

    @property
    def nbytes(self) -> int:
        return self.pixels.nbytes


class FrameLooks(Backlog[ModelPicture, Sequence[Region]]):
    """Those of one node."""

    def __init__(self, detector: Operator) -> None:
        super().__init__(self._find, "a second model cannot look at frames for an audit")
        self._detector = detector

    async def _find(self, asked: ModelPicture) -> Sequence[Region]:
        frame = frame_of(AUDITED, asked.pixels)
        return (await ask(self._detector, frame, (), Call(Decision(asked.model), BACKGROUND))).regions
