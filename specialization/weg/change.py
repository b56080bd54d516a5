"""The two tests that tell when to leave a head: a test for change that runs for ever, and its hypotheses.

Page, "Continuous inspection schemes", Biometrika 41, 1954; Lorden, "Procedures for reacting to a change in
distribution", Annals of Mathematical Statistics 42, 1971: above −log(false alarms per observation) there is a change,
and no test with as few false alarms finds it sooner, as far as one may say for large thresholds.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

from specialization.rates import Rates, Template
from specialization.weg.config import WegConfig
from specialization.weg.state import HeadTarget

LEAST_DIFFERENCE = 0.1
"""The least difference of expected and feared shares: smaller ones are not told apart within a window."""
RARE, FREQUENT = 0.01, 0.98
"""Nothing is expected with certainty."""


class Hypotheses(NamedTuple):
    """How often something happens as expected, and how often if there was a change for the worse."""

    expected: float
    feared: float


def fallbacks(config: WegConfig, template: Template, rates: Rates, target: HeadTarget) -> Hypotheses:
    """Share of objects on which the head says "other"; feared: as many as at the least skew that still serves.

    A head that hardly served from the start is on trial: fewer are expected than were seen.
    """
    feared = max(min(rates.cascaded(_least_skew(config, template, rates)), 0.99), RARE + LEAST_DIFFERENCE)
    return Hypotheses(_not_certain(min(rates.cascaded(target.skew), feared - LEAST_DIFFERENCE)), feared)


def contradictions(config: WegConfig, rates: Rates, target: HeadTarget) -> Hypotheses:
    """Share of the head's answers that the oracle, which errs too, contradicts; feared: τ_FP, or half the others."""
    answered = max(1 - rates.cascaded(target.skew), RARE)
    agreed = config.oracle_accuracy * target.skew * rates.a_in / answered
    expected = _not_certain(1 - agreed)
    return Hypotheses(expected, max(config.tau_fp, (1 + expected) / 2))


def _least_skew(config: WegConfig, template: Template, rates: Rates) -> float:
    """Below it the cascade is not accurate enough, or costs more than the oracle."""
    low, high = (rates.accuracy(skew, config.oracle_accuracy) for skew in (0.0, 1.0))
    accurate = (config.least_accuracy - low) / (high - low) if high > low else 0.0
    return min(max(accurate, rates.skew((1 - template.cost) / template.passed), 0.0), 1.0)


def _not_certain(share: float) -> float:
    return min(max(share, RARE), FREQUENT)


def accumulate(total: float, happened: bool, expected: float, feared: float) -> float:
    """The cumulated sum of log likelihood ratios, never below 0, after one more observation.

    It is one of an event that is expected so often and feared to happen more often.
    """
    ratio = feared / expected if happened else (1 - feared) / (1 - expected)
    return max(0.0, total + log(ratio))


def threshold(false_alarms: float) -> float:
    """Where the sum raises the alarm; while nothing changes, once in 1 / ``false_alarms`` observations at most."""
    return -log(false_alarms)
