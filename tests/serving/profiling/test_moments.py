"""When a model is measured again: at a few moments first, then where service says something else for long."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from serving.profiling.in_service import FACTOR, FIRST_GAP_S, GAP_S, LONG_S, LONGEST_GAP_S, MOMENTS, ProfilingMoments

STEP_S = 30.0
DAY_S = 86_400.0


def measured_at(
    moments: ProfilingMoments, until_s: float, ratio: Callable[[float], float | None], changed: bool = False
) -> list[float]:
    """The times at which it was measured."""
    found, now_s = [], 0.0
    while now_s < until_s:
        now_s += STEP_S
        if moments.due(now_s, ratio(now_s)):
            found.append(now_s)
            moments.measured(now_s, changed)
    return found


def test_a_new_model_is_measured_at_a_few_moments_and_then_no_more() -> None:
    found = measured_at(ProfilingMoments(1, 0.0), DAY_S, lambda now_s: 1.2)
    assert found == [FIRST_GAP_S, FIRST_GAP_S + GAP_S]
    assert 1 + len(found) == MOMENTS


def test_what_was_measured_at_enough_moments_is_left_as_long_as_nobody_says_otherwise() -> None:
    assert measured_at(ProfilingMoments(MOMENTS, 0.0), DAY_S, lambda now_s: None) == []
    assert measured_at(ProfilingMoments(MOMENTS, 0.0), DAY_S, lambda now_s: 0.9 * FACTOR) == []


def test_a_model_that_is_much_faster_in_service_is_measured_again_after_a_while() -> None:
    (first, *_) = measured_at(ProfilingMoments(MOMENTS, 0.0), DAY_S, lambda now_s: 0.25 if now_s > 1000 else 1.0)
    assert 1000 + LONG_S <= first <= 1000 + LONG_S + 2 * STEP_S


def test_a_short_spell_is_no_reason() -> None:
    spells = measured_at(ProfilingMoments(MOMENTS, 0.0), DAY_S, lambda now_s: 4.0 if now_s % 600 < 200 else 1.0)
    assert spells == []


def test_measuring_that_changes_nothing_is_done_ever_more_seldom() -> None:
    found = measured_at(ProfilingMoments(MOMENTS, 0.0), 10 * DAY_S, lambda now_s: 5.0)
    gaps = [after - before for before, after in pairwise(found)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= LONGEST_GAP_S
    assert len(found) < 20


def test_measuring_that_changes_something_may_be_done_again_soon() -> None:
    found = measured_at(ProfilingMoments(MOMENTS, 0.0), 10 * GAP_S, lambda now_s: 5.0, changed=True)
    assert len(found) > 5
