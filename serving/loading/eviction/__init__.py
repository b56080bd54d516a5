"""Which resident models make room for another: decisions alone. ``forecast`` was the best, or within 2 % of the best
rival, at each point measured (``benchmarks/results/eviction.csv``).

Read in this order: ``policy``, ``scored``, ``shares``, ``forecast``.
"""

from __future__ import annotations

from serving.loading.eviction.forecast import Forecast
from serving.loading.eviction.policy import EvictionPolicy

__all__ = ["EvictionPolicy", "Forecast"]
