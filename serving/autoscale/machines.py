"""How many workers there should be, and when offline work may run (Romero et al., 2021, §4.2.3, §6.3.2); and the
autoscaler's thresholds and times, with the values of §5, where it has any. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

CLEARLY = 0.9
"""Machines that are not there are wanted to save cost where they bring it below this share."""


@dataclass(frozen=True, slots=True)
class AutoscaleTerms:
    horizon_s: float = 60.0
    """A new instance is expected to be needed for so long, 1 / λ of §4.2.1: the longer, the less its loading costs."""
    solve_s: float = 0.5
    """The programme is given so long."""
    busy: float = 0.8
    """Where all machines of a kind are in use beyond it, one more is wanted."""
    offline_busy: float = 0.4
    """A machine in use beyond it pauses offline work."""
    release_s: float = 120.0
    """A machine that has been empty for so long is wanted no more."""


def wanted_workers(busy: Sequence[float], lag: int, lag_for_one: int, partitions: int, terms: AutoscaleTerms) -> int:
    """``busy``: of each worker; ``lag``: messages that wait, of which one worker may have ``lag_for_one``.

    One more where all are busy, one less where the others have time for its work. No more than there are partitions,
    as others would have nothing to do.
    """
    there, by_lag = len(busy), ceil(lag / lag_for_one)
    if by_lag > there:
        wanted = by_lag
    elif busy and min(busy) > terms.busy:
        wanted = there + 1
    elif there > 1 and sum(busy) / (there - 1) < terms.busy / 2 and by_lag < there:
        wanted = there - 1
    else:
        wanted = max(there, 1)
    return min(wanted, max(partitions, 1))


def offline_may_run(busy: float, terms: AutoscaleTerms) -> bool:
    """Whether a machine is used so little that it has time for offline work (§6.3.2)."""
    return busy < terms.offline_busy
