"""The life of a loaded variant: from what was measured to its state (Romero et al., 2021, §4 and Figure 4).

A variant is Inactive until it is loaded, then Active. It is Overloaded where it serves at its peak throughput, and
Interfered where it does not and yet takes longer than its profile says, because others use the same caches, memory or
cores. Every threshold has two levels, one to enter a state and a lower one to leave it, so that a variant at the border
does not change sides with every measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["inactive", "active", "overloaded", "interfered"]
"""Whether a variant may be given work."""
TROUBLED: frozenset[State] = frozenset({"overloaded", "interfered"})


@dataclass(frozen=True, slots=True)
class Observed:
    """Means over the time since the last look (Romero et al., 2021, §5 look every 2 s)."""

    loaded: bool
    items_per_s: float = 0.0
    """Served."""
    latency_ratio: float = 1.0
    """Time of its batches over what the profile says of the same batches; 1 where none ran."""


OVERLOADED_AT, RELIEVED_BELOW = 1 / 1.05, 0.8
"""The load from which a variant is Overloaded, as less than the headroom of §5, 1.05, is left; and below which it is so
no more."""
INTERFERED_AT, UNDISTURBED_BELOW = 1.5, 1.2
"""Ratios of latencies likewise; medians of quiet runs differ by up to a fifth."""


def share_of_peak(items_per_s: float, saturation_items_per_s: float) -> float:
    """Share of its peak throughput that a variant serves."""
    return items_per_s / saturation_items_per_s


def next_state(state: State, observed: Observed, saturation_items_per_s: float) -> State:
    """The state after a measurement; overload explains long latencies, so it goes before interference."""
    if not observed.loaded:
        return "inactive"
    load = share_of_peak(observed.items_per_s, saturation_items_per_s)
    if load >= (RELIEVED_BELOW if state == "overloaded" else OVERLOADED_AT):
        return "overloaded"
    if observed.latency_ratio >= (UNDISTURBED_BELOW if state == "interfered" else INTERFERED_AT):
        return "interfered"
    return "active"
