"""A test for change that runs for ever: the cumulated sum of log likelihood ratios, never below 0.

Page, "Continuous inspection schemes", Biometrika 41, 1954; Lorden, "Procedures for reacting to a change in
distribution", Annals of Mathematical Statistics 42, 1971: above −log(false alarms per observation) there is a change,
and no test with as few false alarms finds it sooner, as far as one may say for large thresholds.
"""

from __future__ import annotations

from math import log


def accumulate(total: float, happened: bool, expected: float, feared: float) -> float:
    """The sum after one more observation, of an event that is expected so often and feared to happen more often."""
    ratio = feared / expected if happened else (1 - feared) / (1 - expected)
    return max(0.0, total + log(ratio))


def threshold(false_alarms: float) -> float:
    """Where the sum raises the alarm; while nothing changes, once in 1 / ``false_alarms`` observations at most."""
    return -log(false_alarms)
