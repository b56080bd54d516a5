"""How much an answer hurries: what a request says about time."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Urgency:
    """When an answer is wanted, and what may happen where it would come later."""

    deadline: float
    """When everything that follows from the answer should be finished, on ``time.monotonic()``'s clock."""
    droppable: bool = False
    """A request that cannot be answered in time may be given up (``TooLate``); otherwise it is answered late."""
    downstream_s: float = 0.0
    """The least time still needed once the answer is there."""
    background: bool = False
    """Audits and offline work: run only while nothing else waits."""


BACKGROUND = Urgency(math.inf, background=True)
