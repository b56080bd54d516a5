"""The alarm: disagreements have become frequent just now, whatever the periods have on record.

A CUSUM (Lorden, 1971) in the form of an e-detector (Shin, Ramdas & Rinaldo, 2023, "E-detectors: a nonparametric
framework for sequential change detection"): the evidence that since some moment r times as many objects disagree as are
tolerated, that moment chosen to make it greatest. While no more than the tolerated share disagrees, one false alarm in
``RARE`` audits is to be expected at most.
"""

from __future__ import annotations

import math

RARE = 10_000


def pressure(before: float, agrees: bool, tolerance: float) -> float:
    """Logarithm of the evidence after one audit more, from that after the one before (0 at first).

    r is 1/√tolerance, halfway between what is tolerated and disagreement in everything.
    """
    ratio = 1 / math.sqrt(tolerance)
    return max(0.0, before) + (0.0 if agrees else math.log(ratio)) - (ratio - 1) * tolerance


def rings(pressure: float) -> bool:
    """Whether the evidence suffices."""
    return pressure >= math.log(RARE)
