"""A recogniser of whole frames: a scene, or one of many pictures, is the one object of its frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from operators.base import Call, NodeAnswer, Operator, ask, make_ready
from operators.frames.frame import WHOLE, Frame, Region
from operators.recognise.objects.scenes import Scenes
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


class SceneLooks:
    """Operator: a recogniser of regions that are whole frames answers for the scenes that they show."""

    def __init__(self, recogniser: Operator, scenes: Scenes) -> None:
        """``recogniser``: asks the ``scenes`` what is to be looked at."""
        self._recogniser, self._scenes = recogniser, scenes

    async def prepare(self) -> None:
        """Make the models ready."""
        await make_ready(self._recogniser)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        """The scene's number is its track within the recogniser alone: results know no track of it."""
        if regions:
            number = await self._scenes.see(frame)
            regions = [replace(region, track_id=number) for region in regions]
        return await ask(self._recogniser, frame, regions, call)

    def forget(self, stream: str) -> None:
        """Drop what the recogniser knows of a stream."""
        self._recogniser.forget(stream)
