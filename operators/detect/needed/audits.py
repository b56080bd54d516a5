"""Audits of skipped frames: the detector runs on them afterwards, without delaying frames.

Where the published regions do not agree, it also runs on the frame before, unless it has done so already: its answers
are compared with its own ones there. Where they agree the deficit is 0, whatever it would find on the frame before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from operators.background import Backlog, PendingLook
from operators.base import Call, Operator, ask
from operators.decision import Decision
from operators.detect.agreement import opinion
from operators.detect.needed.matching import agreement, same_counts
from operators.frames.frame import Frame, Region, frame_of
from operators.frames.planes import PIXELS, Pixels, bgr
from operators.observer import UNOBSERVED, Observer
from operators.wire.adaptation import Disagreement
from operators.wire.schema import FrameId
from serving.scheduling.requests import BACKGROUND

AUDIT = FrameId("audit", "", 0)
Told = Callable[["FrameAudit"], None]


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """The frame before one that may be audited."""

    pixels: Pixels
    found: Sequence[Region] | None
    """The detector's regions; None where it was skipped: an audit may have to run it then."""


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """The regions that were published of a skipped frame, and where they come from."""

    regions: Sequence[Region]
    detail: int | None = None
    """The longer side of what the detector was shown of the frames before; None: as it says itself."""
    other: int | None = None
    """One that is to be compared with it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Skipped:
    stream: str
    media_time_s: float
    pixels: Pixels
    published: Published
    before: Pixels | Sequence[Region]
    """The frame before, or what the detector found on it."""

    @property
    def nbytes(self) -> int:
        return self.pixels.nbytes + (self.before.nbytes if isinstance(self.before, PIXELS) else 0)


@dataclass(frozen=True, slots=True)
class FrameAudit:
    now: Sequence[Region]
    """The detector's regions on the frame."""
    deficit: float
    """0…1."""
    runs: int
    """How often the detector ran for it, on as much as it was shown before."""
    compared: tuple[int, float] | None = None
    """The narrower of two longer sides, and how far what it shows agrees with the wider."""


class SkipAudits(Backlog[_Skipped, FrameAudit]):
    """Runs the detector on skipped frames, and tells how much worse their published regions are than it is itself."""

    def __init__(self, node: str, detector: Operator, model: str, sure: float, observer: Observer = UNOBSERVED) -> None:
        """``sure``: the confidence from which an object counts wherever it is missing."""
        self._node, self._detector, self._model, self._sure = node, detector, model, sure
        self._observer = observer
        super().__init__(self._run, "skipped frames cannot be audited")

    def audit(self, before: Before, frame: Frame, published: Published, tell: Told) -> None:
        """Audit a skipped frame once its result has been published; ``before``: the frame before, as large."""
        earlier = before.pixels.copy() if before.found is None else before.found
        published = replace(published, regions=[replace(each) for each in published.regions])
        skipped = _Skipped(frame.stream, frame.media_time_s, frame.pixels.copy(), published, earlier)
        self.hold(frame.header.id, [PendingLook(skipped, partial(self._tell, skipped, tell), _nothing)])

    async def _run(self, skipped: _Skipped) -> FrameAudit:
        """The deficit: the detector's agreement with itself one frame earlier, less that of the published regions."""
        published, earlier = skipped.published, skipped.before
        now = await self._detect(skipped.pixels, published.detail)
        agreed, compared = agreement(now, published.regions, self._sure), await self._compared(skipped, now)
        if agreed == 1.0:
            return FrameAudit(now, 0.0, 1, compared)
        runs = 1
        if isinstance(earlier, PIXELS):
            earlier, runs = await self._detect(earlier, published.detail), 2
        return FrameAudit(now, max(0.0, same_counts(earlier, now, self._sure) - agreed), runs, compared)

    async def _compared(self, skipped: _Skipped, now: Sequence[Region]) -> tuple[int, float] | None:
        """How far the regions agree that less and more detail show, after the longer side of the less."""
        detail, other = skipped.published.detail, skipped.published.other
        if detail is None or other is None or other == detail:
            return None
        found = await self._detect(skipped.pixels, other)
        wide, narrow = (now, found) if other < detail else (found, now)
        return min(detail, other), agreement(wide, narrow, self._sure)

    async def _detect(self, picture: Pixels, detail: int | None) -> Sequence[Region]:
        return await detected(self._detector, self._model, picture, detail)

    def _tell(self, skipped: _Skipped, tell: Told, seen: FrameAudit) -> None:
        tell(seen)
        if seen.deficit > 0:
            self._observer.audit_disagreed(self._disagreement(skipped, seen.now), bgr(skipped.pixels))

    def _disagreement(self, skipped: _Skipped, now: Sequence[Region]) -> Disagreement:
        return Disagreement(
            stream=skipped.stream,
            node=self._node,
            kind="propagated",
            media_time_s=skipped.media_time_s,
            in_shadow=False,
            shortcut=opinion(self._model, skipped.published.regions),
            oracle=opinion(self._model, now),
        )


async def detected(detector: Operator, model: str, picture: Pixels, detail: int | None = None) -> Sequence[Region]:
    """The regions that a model finds on a picture while nothing else waits for the engine."""
    call = Call(Decision(model), BACKGROUND, detail=detail)
    return (await ask(detector, frame_of(AUDIT, picture), (), call)).regions


def _nothing() -> None:
    """An audit that is given up changes nothing."""
