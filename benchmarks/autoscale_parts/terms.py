"""What INFaaS as a whole has besides the product's: there slack comes with the load, and placement keeps SLOs."""

from __future__ import annotations

from dataclasses import dataclass

from serving.autoscale.machines import AutoscaleTerms


@dataclass(frozen=True, slots=True)
class WholeTerms(AutoscaleTerms):
    """Thresholds and times, with the values of Romero et al., 2021, §5, where it has any."""

    slack: float = 1.05
    """Instances serve so many times the load."""
    late: float = 0.05
    """No larger share of requests that come at random should be late, see ``headroom.py``; 1: throughput alone counts,
    as in the paper."""
    overloaded: float = 0.8
    """Where so many of all machines have an Overloaded variant, one more is wanted."""
