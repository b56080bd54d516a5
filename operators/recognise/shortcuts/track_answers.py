"""Whether a tracked object needs another look, or its answer may be given again. Pure."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from operators.wire.schema import Attribute

GROWTH = 1.5
"""Growth of an object's area after which the object is looked at anew, because it is seen better."""
REMEMBERED = 4096
"""Number of tracks that are kept: those that were seen last."""


@dataclass(slots=True)
class _Look:
    """The latest look at a track."""

    attribute: Attribute
    at_s: float
    area: float
    epoch: int
    confirmed: bool
    """Whether the look before gave the same answer, and both were sure."""


class TrackAnswers:
    """The answers for the tracks of one run of a stream; times are media seconds, areas shares of the frame."""

    def __init__(self, reuse_s: float, sure: float) -> None:
        """``reuse_s``: how long an answer may be given again; ``sure``: the confidence that it needs."""
        self._reuse_s, self._sure = reuse_s, sure
        self._looks: OrderedDict[int, _Look] = OrderedDict()

    def recall(self, track: int, at_s: float, area: float, epoch: int) -> Attribute | None:
        """Return the answer to repeat; None if the object has to be looked at.

        An answer is repeated if two looks in a row were sure of it, recently, in this epoch, at about this size.
        """
        look = self._looks.get(track)
        if look is None or not look.confirmed or look.epoch != epoch:
            return None
        recent = 0 <= at_s - look.at_s < self._reuse_s
        return look.attribute if recent and area <= look.area * GROWTH else None

    def looked(self, track: int, at_s: float, area: float, epoch: int, attribute: Attribute) -> None:
        """Note a look at the object."""
        before = self._looks.pop(track, None)
        confirmed = before is not None and self._confirms(attribute, before.attribute)
        self._looks[track] = _Look(attribute, at_s, area, epoch, confirmed)
        if len(self._looks) > REMEMBERED:
            self._looks.popitem(last=False)

    def _confirms(self, now: Attribute, before: Attribute) -> bool:
        return now.label == before.label and min(now.confidence, before.confidence) >= self._sure
