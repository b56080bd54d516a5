"""The autoscaler's thresholds and times, with the values of Romero et al., 2021, §5, where it has any."""

from __future__ import annotations

from dataclasses import dataclass

CLEARLY = 0.9
"""Machines that are not there are wanted to save cost where they bring it below this share."""


@dataclass(frozen=True, slots=True)
class AutoscaleTerms:
    """Thresholds and times."""

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
