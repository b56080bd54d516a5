"""A recogniser of whole frames: a scene, or one of many pictures, is the one object of its frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from operators.base import Call, NodeAnswer, Operator, ask, make_ready
from operators.frames.frame import WHOLE, Frame, Region
from operators.wire.result import FRAME


class WholeFrame:
    """Operator: one region, the frame, with the recogniser's answer, which is also what the object is called."""

    def __init__(self, node: str, recogniser: Operator) -> None:
        """``recogniser``: alone or with shortcuts."""
        self._node, self._recogniser = node, recogniser

    async def prepare(self) -> None:
        """Make the models ready."""
        await make_ready(self._recogniser)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        whole = Region(0, self._node, WHOLE, FRAME, 1.0, class_agnostic=True)
        return replace(await ask(self._recogniser, frame, [whole], call), regions=[whole])

    def forget(self, stream: str) -> None:
        """Drop what the recogniser knows of a stream."""
        self._recogniser.forget(stream)
