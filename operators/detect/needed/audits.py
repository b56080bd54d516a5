"""Audits of skipped frames: the detector runs on them afterwards, without delaying frames.

It also runs on the frame before, unless it has done so already: its answers are compared with its own ones there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from operators.background import Backlog, PendingLook
from operators.base import Call, Operator
from operators.detect.needed.matching import agreement, same_counts
from operators.frames.frame import Frame, Region, frame_of
from operators.plan import Decision
from operators.wire.schema import FrameId
from serving.common.tensors import Image
from serving.scheduling.urgency import BACKGROUND

AUDITED = FrameId("audit", "", 0)
Told = Callable[[float], None]
"""Takes the deficit of an audit, 0…1."""


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """The frame before one that may be audited."""

    image: Image
    found: Sequence[Region] | None
    """What the detector found on it; None where it was skipped: then an audit has to run the detector on it too."""


class Audits:
    """Runs the detector on skipped frames, and tells how much worse their published regions are than it is itself."""

    def __init__(self, detector: Operator, model: str, sure: float) -> None:
        """``sure``: the confidence from which an object counts wherever it is missing."""
        self._detector, self._model, self._sure = detector, model, sure
        self._backlog: Backlog[list[list[Region]]] = Backlog(self._run, "skipped frames cannot be audited")

    @property
    def has_room(self) -> bool:
        """Whether another audit can wait; asked before it is drawn."""
        return self._backlog.has_room

    def hold(self, before: Before, frame: Frame, published: Sequence[Region], tell: Told) -> None:
        """Audit a skipped frame once its result has been sent; ``before``: the frame before, as large."""
        unseen = [before.image] if before.found is None else []
        compare = partial(self._compare, before.found, [replace(each) for each in published], tell)
        self._backlog.hold(frame.stream, [PendingLook(np.stack([*unseen, frame.image]), compare, _nothing)])

    def discard(self, stream: str) -> None:
        """The stream's latest frame was dropped or failed: nobody got its regions."""
        self._backlog.discard(stream)

    def result_sent(self, stream: str) -> None:
        """The result of the stream's latest frame has been sent: its audit may begin."""
        self._backlog.result_sent(stream)

    async def close(self, within_s: float) -> None:
        """Finish waiting audits within the time, and give up the rest."""
        await self._backlog.close(within_s)

    async def _run(self, pictures: Image) -> list[list[Region]]:
        return [await self._detect(picture) for picture in pictures]

    async def _detect(self, picture: Image) -> list[Region]:
        frame = frame_of(AUDITED, picture)
        return await self._detector.process(frame, (), Call(Decision(self._model), BACKGROUND))

    def _compare(
        self, before: Sequence[Region] | None, published: Sequence[Region], tell: Told, found: list[list[Region]]
    ) -> None:
        """The deficit: the detector's agreement with itself one frame earlier, less that of the published regions."""
        now = found[-1]
        own = same_counts(found[0] if before is None else before, now, self._sure)
        tell(max(0.0, own - agreement(now, published, self._sure)))


def _nothing() -> None:
    """An audit that is given up changes nothing."""
