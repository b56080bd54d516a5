"""Second looks at frames: a model finds objects on them once their results have been sent, without delaying frames."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from operators.background import Backlog, PendingLook
from operators.base import Call, Operator, ask
from operators.decision import Decision
from operators.frames.frame import Frame, Region, frame_of
from operators.frames.planes import Pixels
from operators.wire.schema import FrameId
from serving.scheduling.requests import BACKGROUND

AUDITED = FrameId("audit", "", 0)


@dataclass(frozen=True, slots=True, eq=False)
class SecondLook:
    """A look that is to be made."""

    model: str
    on_found: Callable[[Sequence[Region]], None]
    """Called with what the model found."""
    give_up: Callable[[], None]
    """Called instead if the look is not made."""


class SecondLooks:
    """Bounded: each model has a backlog of its own."""

    def __init__(self, detector: Operator, models: Sequence[str]) -> None:
        self._detector = detector
        self._backlogs: dict[str, Backlog[Pixels, Sequence[Region]]] = {
            model: Backlog(partial(self._find, model), f"{model} cannot look at frames for an audit")
            for model in models
        }

    def has_room(self, model: str) -> bool:
        """Whether another look of the model can wait; asked before a frame is drawn."""
        return self._backlogs[model].has_room

    def hold(self, frame: Frame, look: SecondLook) -> None:
        """Look at a frame once its result has been published."""
        self._backlogs[look.model].hold(frame.header.id, [PendingLook(frame.pixels, look.on_found, look.give_up)])

    def published(self, frame: FrameId) -> None:
        """Let the looks at a frame begin: its result has been published."""
        for backlog in self._backlogs.values():
            backlog.published(frame)

    def dropped(self, frame: FrameId) -> None:
        """Give up the looks at a frame that was dropped or failed: nobody got its regions."""
        for backlog in self._backlogs.values():
            backlog.dropped(frame)

    def forget(self, stream: str) -> None:
        for backlog in self._backlogs.values():
            backlog.forget(stream)

    async def close(self, within_s: float) -> None:
        """Finish the looks that wait, within the time, and give up the rest."""
        await asyncio.gather(*(backlog.close(within_s) for backlog in self._backlogs.values()))

    async def _find(self, model: str, picture: Pixels) -> Sequence[Region]:
        frame = frame_of(AUDITED, picture)
        return (await ask(self._detector, frame, (), Call(Decision(model), BACKGROUND))).regions
