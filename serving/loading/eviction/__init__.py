"""Which resident models make room for another: decisions alone. ``forecast`` is what runs; ``baselines`` and
``clairvoyant`` are what benchmarks compare it with.

Read in this order: ``policy``, ``ranked``, ``scored``, ``shares``, ``forecast``, ``baselines``, ``clairvoyant``.
"""

from __future__ import annotations

from serving.loading.eviction.baselines import GDSF, LRU, CremeBrulee, Popularity, Random
from serving.loading.eviction.clairvoyant import BeladyMIN, CremeBruleeOracle
from serving.loading.eviction.forecast import Forecast
from serving.loading.eviction.policy import EvictionPolicy

__all__ = [
    "GDSF",
    "LRU",
    "BeladyMIN",
    "CremeBrulee",
    "CremeBruleeOracle",
    "EvictionPolicy",
    "Forecast",
    "Popularity",
    "Random",
    "default",
]


def default() -> EvictionPolicy:
    """The policy that was best, or within 2 % of the best rival, at each point measured (``results/eviction.csv``)."""
    return Forecast()
