"""The threshold lets a head say as much as it may, and no more than held-out rows allow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.confidence_threshold import HeldOutAnswers, least_confidence
from specialization.rates import Rates, rates


def held(confidence: list[float], right: list[bool], others: int = 0) -> HeldOutAnswers:
    """Rows of one dominant class that are said rightly, or of another class; ``others`` more, never answered."""
    truth = [0 if each else 1 for each in right] + [1] * others
    count = len(truth)
    return HeldOutAnswers(
        np.zeros(count, np.intp),
        np.array([*confidence, *[0.0] * others], np.float32),
        np.array(truth),
        np.full(count, 1 / count, np.float32),
        1,
    )


def test_as_low_as_the_errors_allow() -> None:
    confidence = list(np.linspace(1, 0, 1001))
    right = [value > 0.3 for value in confidence]
    threshold = least_confidence(held(confidence, right), 0.1)
    # Of the answers above it a tenth are wrong, less one for what was not seen: (w + 1) / (a) ≤ 0.1 with a = 700 + w.
    assert threshold == pytest.approx(0.3 - 0.076, abs=0.003)


def test_none_where_the_surest_answers_are_wrong() -> None:
    assert least_confidence(held([0.9] * 50 + [0.5] * 50, [False] * 50 + [True] * 50), 0.1) is None


def test_few_rows_prove_nothing_however_right() -> None:
    assert least_confidence(held([0.9] * 40, [True] * 40), 0.01) is None
    assert least_confidence(held([0.9] * 140, [True] * 140), 0.01) == pytest.approx(0.9)


def test_heavy_rows_count_as_few() -> None:
    sure = held([0.9] * 200, [True] * 200)
    weights = np.where(np.arange(200) < 20, 10.0, 0.01).astype(np.float32)
    uneven = HeldOutAnswers(sure.said, sure.confidence, sure.truth, weights, 1)
    assert least_confidence(sure, 0.01) is not None
    assert least_confidence(uneven, 0.01) is None


def test_no_threshold_is_put_between_equals() -> None:
    rows = held([0.9] * 300 + [0.5] * 40, [True] * 300 + [True] * 20 + [False] * 20)
    assert least_confidence(rows, 0.03) == pytest.approx(0.9)


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=60), st.floats(0.01, 0.5))
def test_what_is_answered_keeps_the_tolerance(rows: list[tuple[float, bool]], tolerance: float) -> None:
    some = held([confidence for confidence, _ in rows], [right for _, right in rows])
    threshold = least_confidence(some, tolerance)
    if threshold is not None:
        answered = some.confidence >= threshold
        assert (some.truth[answered] != 0).mean() <= tolerance
        allowed = [least_confidence(some, more) for more in (tolerance * 1.2, tolerance * 2)]
        assert all(each is not None and each <= threshold for each in allowed)


def test_rates_count_what_eq_5_1_needs() -> None:
    rows = HeldOutAnswers(
        np.array([0, 1, 1, 0, 0, 1]),
        np.array([0.9, 0.9, 0.9, 0.2, 0.9, 0.1], np.float32),
        np.array([0, 1, 0, 0, 2, 2]),
        np.full(6, 1 / 6, np.float32),
        2,
    )
    assert rates(rows, 0.5) == Rates(a_in=0.5, e_in_out=0.25, a_out=0.5)
