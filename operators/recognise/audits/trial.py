"""The looks at one object, as a shortcut and the oracle have answered them. Pure.

Both answers pool the same looks, by the rule by which they are pooled to be published. A look at which the shortcut was
silent has the oracle's answer in both pools, as it would have in service. Where every look is an answer, an object is
one look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cache_adapt.audit.audit import Ticket
from operators.frames.frame import Frame, Region
from operators.recognise.objects.pool import Belief, Look, Pool
from operators.wire.schema import Attribute
from serving.common.tensors import Image

LONGEST_S = 60.0
"""Media time after which a trial ends without a conclusion: some objects stand at the border for ever."""


@dataclass(frozen=True, slots=True)
class AuditedLook:
    """A look as a shortcut and the oracle have answered it."""

    frame: Frame
    region: Region
    said: Attribute | None
    """The shortcut's answer; None: it was silent, or has yet to look."""
    reference: Attribute | None
    """The oracle's; None: it was not asked, or has yet to look."""
    number: int = 0
    """The number of what the shortcut answers with."""
    crop: Image | None = None
    """The object's picture as the oracle is shown it, where the frame's is not kept."""


class OneLook:
    """In place of a pool where every look is an answer."""

    def add(self, look: Look) -> None:
        self._said = look.said

    def belief(self) -> Belief:
        return Belief(self._said, self._said.confidence, self._said.confidence)


@dataclass(slots=True, eq=False)
class Trial:
    """One object, and one shortcut that answers for it, or would."""

    key: str
    """The name of the shortcut's audit."""
    shadow: bool
    """Whether the oracle's answer is published."""
    new_pool: Callable[[bool], Pool | OneLook]
    """Makes a pool of looks at the whole object, or else at a part of it."""
    opened_s: float = 0.0
    pools: tuple[Pool | OneLook, Pool | OneLook] | None = None
    """The shortcut's answers, and the oracle's; None before the first look."""
    whole: bool = False
    """Whether they are of looks at the whole object."""
    ticket: Ticket | None = None
    """The draw; None as long as the shortcut has answered no look."""
    number: int = 0
    """The number of the exits that answered first."""
    pending: int = 0
    """Looks that one of the two has yet to make."""
    over: bool = False
    """Whether the object has its conclusion, or its track is over."""
    crop: Image | None = None
    """The object where the two first differed."""

    def looked(self, said: Look, reference: Look, whole: bool) -> None:
        """Take one look, as both answered it; the first look at the whole object drops those at a part of it."""
        if self.pools is None or (whole and not self.whole):
            self.pools, self.whole, self.crop = (self.new_pool(whole), self.new_pool(whole)), whole, None
        for pool, look in zip(self.pools, (said, reference), strict=True):
            pool.add(look)

    @property
    def beliefs(self) -> tuple[Belief, Belief] | None:
        """The shortcut's finding and the oracle's; None before the first look."""
        return None if self.pools is None else (self.pools[0].belief(), self.pools[1].belief())

    def is_done(self, at_s: float) -> bool:
        """Whether nothing more is to be waited for."""
        return not self.pending and (self.over or at_s - self.opened_s > LONGEST_S)
