"""The autoscaler's thresholds and times, with the values of Romero et al., 2021, §5, where it has any."""

from __future__ import annotations

from dataclasses import dataclass

CLEARLY = 0.9
"""Machines that are not there are wanted to save cost where they bring it below this share."""


@dataclass(frozen=True, slots=True)
class AutoscaleTerms:
    """Thresholds and times."""

    slack: float = 1.05
    """Instances serve so many times the load."""
    late: float = 0.05
    """No larger share of requests that come at random should be late, see ``headroom.py``; 1: throughput alone counts,
    as in the paper."""
    horizon_s: float = 60.0
    """A new instance is expected to be needed for so long, 1 / λ of §4.2.1: the longer, the less its loading costs."""
    calm_s: float = 10.0
    """Lower loads are believed after so long, or after as long as the variant in use takes to load (T_v)."""
    solve_s: float = 0.5
    """The programme is given so long."""
    busy: float = 0.8
    """Where all machines of a kind are in use beyond it, one more is wanted."""
    overloaded: float = 0.8
    """Where so many of all machines have an Overloaded variant, one more is wanted."""
    offline_busy: float = 0.4
    """A machine in use beyond it pauses offline work."""
    release_s: float = 120.0
    """A machine that has been empty for so long is wanted no more."""
