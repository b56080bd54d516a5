"""Trials with defaults."""

from __future__ import annotations

from operators.recognise.audits.trial import Trial
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.pool import Pool

WORDS = 4


def pool(whole: bool) -> Pool:
    return Pool(WORDS, LOOK_RULE.correlation, 1.0 if whole else LOOK_RULE.border_strength)


def trial(key: str = "variant", shadow: bool = False, opened_s: float = 0.0) -> Trial:
    """A trial without looks."""
    return Trial(key, shadow, pool, opened_s)
