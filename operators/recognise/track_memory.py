"""Whether a tracked object needs another look, and whether that look tells anything new of the stream. Pure."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from operators.schema import Attribute

GROWTH = 1.5
"""An object whose box covers so many times the area is seen better than before: it is looked at anew."""
TOLD_EVERY_S = 0.3
"""Looks at one track are no independent observations: of more frequent ones, specialization is not told."""
REMEMBERED = 4096
"""Tracks: those that were seen last."""


@dataclass(slots=True)
class _Look:
    """The latest look at a track."""

    attribute: Attribute
    at_s: float
    area: float
    epoch: int
    confirmed: bool
    """The look before said the same, and both were sure."""
    told_at_s: float


class TrackMemory:
    """What was said of the tracks of one run of a stream; times are media seconds, areas shares of the frame."""

    def __init__(self, reuse_s: float, sure: float) -> None:
        """``reuse_s``: how long an answer may be given again, 0: never; ``sure``: the confidence that it needs."""
        self._reuse_s, self._sure = reuse_s, sure
        self._looks: OrderedDict[int, _Look] = OrderedDict()

    def recall(self, track: int, at_s: float, area: float, epoch: int) -> Attribute | None:
        """The answer that may be given again; None where the object has to be looked at.

        It was given twice running and for sure, not long ago, in this epoch, of an object that was not much smaller.
        """
        look = self._looks.get(track)
        if look is None or not look.confirmed or look.epoch != epoch:
            return None
        recent = 0 <= at_s - look.at_s < self._reuse_s
        return look.attribute if recent and area <= look.area * GROWTH else None

    def looked(self, track: int, at_s: float, area: float, epoch: int, attribute: Attribute) -> bool:
        """The object was looked at: whether this is worth telling as an observation of the stream."""
        before = self._looks.pop(track, None)
        confirmed = before is not None and self._confirms(attribute, before.attribute)
        news = before is None or not 0 <= at_s - before.told_at_s < TOLD_EVERY_S
        told_at_s = at_s if before is None or news else before.told_at_s
        self._looks[track] = _Look(attribute, at_s, area, epoch, confirmed, told_at_s)
        if len(self._looks) > REMEMBERED:
            self._looks.popitem(last=False)
        return news

    def _confirms(self, now: Attribute, before: Attribute) -> bool:
        return now.label == before.label and min(now.confidence, before.confidence) >= self._sure
