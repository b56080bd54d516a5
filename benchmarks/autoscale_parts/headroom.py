"""How much of its peak an instance may be asked for, where requests come at random and few may be late. Pure.

Throughput alone would let queues grow: an instance that takes most of the SLO for a request makes most of them late at
nine tenths of its peak. Requests that come as a Poisson process wait for those that came before; the instances of one
application are one queue (M/D/1), in which k requests may wait, as many as are served in the time that the SLO leaves.
So few large instances, or many small ones, may be asked for a greater share of their peak.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, factorial, inf, log

FEW = 8.0
"""Up to such a k the share is computed exactly (Erlang); beyond, by its tail, within 0.02."""
PARTS = 16
"""Small k are rounded down to parts of so many, so that little is computed anew."""
STEPS = 30
MOST = 64
"""Instances of one application beyond which more make no difference."""


def usable_rate(items_per_s: float, spare_s: float, load: float, late: float) -> float:
    """Items per second of one instance where as many serve a load as it takes, and a share of ``late`` at most is late.

    ``spare_s``: the SLO less the latency.

    >>> [round(usable_rate(5.0, spare_s, 4.0, 0.05), 1) for spare_s in (0.0, 0.1, 0.3, 5.0, inf)]
    [0.2, 2.0, 3.1, 4.7, 5.0]
    >>> round(usable_rate(5.0, 0.3, 100.0, 0.05), 1)
    4.8
    """
    if late >= 1 or spare_s == inf:
        return items_per_s
    rate = 0.0
    for instances in range(min(max(ceil(load / items_per_s), 1), MOST), MOST + 1):
        rate = items_per_s * usable_share(instances * items_per_s * spare_s, late)
        if instances * rate >= load:
            break
    return rate


def usable_share(waiting: float, late: float) -> float:
    """The largest share of the peak at which hardly anybody finds more ``waiting``."""
    if waiting >= FEW:
        return 1 / (1 + log(1 / late) / (2 * waiting))
    return _exactly(int(waiting * PARTS), late)


@lru_cache(maxsize=1024)
def _exactly(parts: int, late: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _late(middle, parts / PARTS) <= late:
            low = middle
        else:
            high = middle
    return low


def _late(share: float, waiting: float) -> float:
    """The share that finds more waiting in an M/D/1 queue."""
    gone = [waiting - served for served in range(int(waiting) + 1)]
    terms = [exp(share * each) * (-share * each) ** n / factorial(n) for n, each in enumerate(gone)]
    return 1 - (1 - share) * sum(terms)
