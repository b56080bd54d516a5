"""How many workers there should be, and when offline work may run (Romero et al., 2021, §4.2.3, §6.3.2). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from serving.autoscale.terms import AutoscaleTerms
from serving.scheduling.health import TROUBLED, State


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


def offline_may_run(busy: float, states: Iterable[State], terms: AutoscaleTerms) -> bool:
    """Whether a machine has time for offline work (§6.3.2): little used, and online work as fast as was measured."""
    return busy < terms.offline_busy and TROUBLED.isdisjoint(states)
