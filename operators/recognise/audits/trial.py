"""The looks at one object, as a shortcut and the oracle have answered them. Pure.

Both answers pool the same looks by the same rule. A look at which the shortcut was silent has the oracle's answer in
both pools, as it would have in service.
"""

from __future__ import annotations

from dataclasses import dataclass

from cache_adapt.audit.audit import Ticket
from operators.recognise.objects.pool import Look, Pool
from serving.common.tensors import Image

LONGEST_S = 60.0
"""Media time after which a trial ends without a conclusion: some objects stand at the border for ever."""


@dataclass(slots=True, eq=False)
class Trial:
    """One object, and one shortcut that answers for it, or would."""

    key: str
    """The name of the shortcut's audit."""
    shadow: bool
    """Whether the oracle's answer is published."""
    answered: Pool
    """With the shortcut's answers."""
    reference: Pool
    """With the oracle's."""
    opened_s: float
    ticket: Ticket | None = None
    """The draw; None as long as the shortcut has answered no look."""
    token: object = None
    """The shortcut's note of how it answered first."""
    pending: int = 0
    """Looks that one of the two has yet to make."""
    over: bool = False
    """Whether the object has its conclusion, or its track is over."""
    crop: Image | None = None
    """The object where the two last differed."""

    def looked(self, said: Look, reference: Look) -> None:
        """Take one look, as both answered it."""
        self.answered.add(said)
        self.reference.add(reference)

    def is_done(self, at_s: float) -> bool:
        """Whether nothing more is to be waited for."""
        return not self.pending and (self.over or at_s - self.opened_s > LONGEST_S)

    @property
    def can_be_compared(self) -> bool:
        return self.ticket is not None and self.reference.looks > 0
