"""Audits of skipped frames: the detector runs on them afterwards, and on the frame before, without delaying frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np

from operators.background import Backlog, PendingLook
from operators.base import Call, Operator
from operators.detect.needed.matching import agreement, same_counts
from operators.frames.frame import Frame, Region
from operators.plan import Decision
from serving.common.tensors import Image
from serving.scheduling.urgency import BACKGROUND

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Told = Callable[[float], None]
"""Takes the deficit of an audit, 0…1."""


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """What the detector finds on a frame and on the one before."""

    before: Sequence[Region]
    now: Sequence[Region]


class Audits:
    """Runs the detector on skipped frames, and tells how much worse their published regions are than it is itself."""

    def __init__(self, detector: Operator, model: str, sure: float) -> None:
        """``sure``: the confidence from which an object counts wherever it is missing."""
        self._detector, self._model, self._sure = detector, model, sure
        self._backlog: Backlog[_Pair] = Backlog(self._run, "skipped frames cannot be audited")

    @property
    def has_room(self) -> bool:
        """Whether another audit can wait; asked before it is drawn."""
        return self._backlog.has_room

    def hold(self, before: Image, frame: Frame, published: Sequence[Region], tell: Told) -> None:
        """Audit a skipped frame once its result has been sent; ``before``: the image of the frame before, as large."""
        pictures = np.stack([before, frame.image])
        regions = [replace(each) for each in published]
        self._backlog.hold(frame.stream, [PendingLook(pictures, partial(self._compare, regions, tell), _nothing)])

    def discard(self, stream: str) -> None:
        """The stream's latest frame was dropped or failed: nobody got its regions."""
        self._backlog.discard(stream)

    def result_sent(self, stream: str) -> None:
        """The result of the stream's latest frame has been sent: its audit may begin."""
        self._backlog.result_sent(stream)

    async def close(self, within_s: float) -> None:
        """Finish waiting audits within the time, and give up the rest."""
        await self._backlog.close(within_s)

    async def _run(self, pictures: Image) -> _Pair:
        found = [await self._detect(picture) for picture in pictures]
        return _Pair(*found)

    async def _detect(self, picture: Image) -> list[Region]:
        frame = Frame("audit", "", 0, picture, 0.0, captured_at=EPOCH)
        return await self._detector.process(frame, (), Call(Decision(self._model), BACKGROUND))

    def _compare(self, published: Sequence[Region], tell: Told, found: _Pair) -> None:
        """The deficit: the detector's agreement with itself one frame earlier, less that of the published regions."""
        own = same_counts(found.before, found.now, self._sure)
        tell(max(0.0, own - agreement(found.now, published, self._sure)))


def _nothing() -> None:
    """An audit that is given up changes nothing."""
