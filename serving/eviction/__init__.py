"""Which resident models make room for another: eviction policies, decisions alone."""

from __future__ import annotations

from serving.eviction.classic import GDSF, LRU, CremeBrulee, Popularity, Random
from serving.eviction.forecast import Forecast
from serving.eviction.future import BeladyMIN, CremeBruleeOracle
from serving.eviction.policy import EvictionPolicy

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
    """The policy that is at least as good as popularity, CremeBrulee and GDSF on every workload measured."""
    return Forecast()
