"""A recogniser is as sure as it is right, and names from where enough of its names are right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from learning.calibration import NEVER, balanced, least, least_confidence, temperature
from serving.common.tensors import softmax


def drawn(heat: float, count: int = 4000, seed: int = 1) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Scores of three classes, and labels drawn by what the scores say at this temperature."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (count, 3)).astype(np.float32)
    shares = softmax(scores / heat)
    labels = (rng.random(count)[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    return scores, labels.astype(np.intp)


@pytest.mark.parametrize("heat", [0.5, 1.0, 3.0])
def test_the_temperature_is_that_by_which_the_labels_were_drawn(heat: float) -> None:
    assert temperature(*drawn(heat)) == pytest.approx(heat, rel=0.12)


@pytest.mark.parametrize("right", [0.8, 0.95])
def test_from_the_least_confidence_on_enough_names_are_right(right: float) -> None:
    scores, labels = drawn(1.0)
    shares = softmax(scores)
    confidence = least(shares, labels, right)
    further, truth = drawn(1.0, seed=2)
    named = softmax(further).max(axis=1) >= confidence
    assert 0.2 < named.mean() < 1
    assert (further.argmax(axis=1) == truth)[named].mean() == pytest.approx(right, abs=0.03)


def test_where_no_confidence_is_enough_next_to_nothing_is_named() -> None:
    shares = softmax(np.random.default_rng(1).normal(0, 1, (300, 4)).astype(np.float32))
    assert least(shares, (shares.argmax(axis=1) + 1) % 4, 0.9) == NEVER


def test_all_classes_weigh_the_same() -> None:
    weights = balanced(np.array([0, 0, 0, 1]))
    assert weights.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def threshold(confidence: list[float], right: list[bool], tolerance: float) -> float | None:
    return least_confidence(np.array(confidence, np.float32), np.array(right), tolerance)


def test_the_threshold_is_as_low_as_the_errors_allow() -> None:
    confidence = list(np.linspace(1, 0, 1001))
    found = threshold(confidence, [value > 0.3 for value in confidence], 0.1)
    # Of the answers above it a tenth are wrong, less one for what was not seen: (w + 1) / (a) ≤ 0.1 with a = 700 + w.
    assert found == pytest.approx(0.3 - 0.076, abs=0.003)


def test_there_is_none_where_the_surest_answers_are_wrong() -> None:
    assert threshold([0.9] * 50 + [0.5] * 50, [False] * 50 + [True] * 50, 0.1) is None


def test_few_rows_prove_nothing_however_right() -> None:
    assert threshold([0.9] * 40, [True] * 40, 0.01) is None
    assert threshold([0.9] * 140, [True] * 140, 0.01) == pytest.approx(0.9)


def test_heavy_rows_count_as_few() -> None:
    confidence, right = np.full(200, 0.9, np.float32), np.ones(200, np.bool_)
    uneven = np.where(np.arange(200) < 20, 10.0, 0.01).astype(np.float32)
    assert least_confidence(confidence, right, 0.01) is not None
    assert least_confidence(confidence, right, 0.01, uneven) is None


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=60), st.floats(0.01, 0.5))
def test_what_is_answered_keeps_the_tolerance(rows: list[tuple[float, bool]], tolerance: float) -> None:
    confidence, right = np.array([each for each, _ in rows], np.float32), np.array([each for _, each in rows])
    found = least_confidence(confidence, right, tolerance)
    if found is not None:
        assert (~right[confidence >= found]).mean() <= tolerance
        allowed = [least_confidence(confidence, right, more) for more in (tolerance * 1.2, tolerance * 2)]
        assert all(each is not None and each <= found for each in allowed)
