from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.binomial import at_least
from specialization.weg.dominance import Inputs, skew_of_answers, support

# Table C.1 (Shen, 2019): N, a*, n, p, w, k, p_in, p_out; rows 1, 7 and 8 as recomputed, the printed ones are misprints.
TABLE_C1 = [
    (1000, 0.68, 5, 0.9, 30, 2, 0.8975, 6.52e-5),
    (1000, 0.68, 10, 0.9, 30, 2, 0.558, 6.53e-5),
    (1000, 0.68, 10, 0.9, 60, 2, 0.891, 2.64e-4),
    (1000, 0.68, 10, 0.7, 60, 2, 0.789, 4.80e-4),
    (1000, 0.68, 10, 0.7, 90, 2, 0.933, 1.08e-3),
    (205, 0.58, 10, 0.9, 90, 2, 0.959, 0.0194),
    (205, 0.58, 10, 0.9, 90, 3, 0.8708, 1.317e-3),
]

inputs = st.builds(
    Inputs,
    classes=st.integers(20, 2000),
    oracle_accuracy=st.floats(0.3, 1.0),
    dominant=st.integers(1, 15),
    skew=st.floats(0.0, 1.0),
)


@pytest.mark.parametrize(("classes", "accuracy", "n", "p", "window", "k", "p_in", "p_out"), TABLE_C1)
def test_table_c1(
    classes: int, accuracy: float, n: int, p: float, window: int, k: int, p_in: float, p_out: float
) -> None:
    model = Inputs(classes, accuracy, n, p)
    assert at_least(k, window, model.dominant_answer()) == pytest.approx(p_in, abs=5e-4)
    assert model.p_out(window, k) == pytest.approx(p_out, rel=5e-3)


def test_table_c1_without_skew() -> None:
    assert Inputs(205, 0.58).p_out(90, 3) == pytest.approx(0.00995, rel=1e-3)


@given(inputs)
def test_the_oracles_answers_add_up_to_one(model: Inputs) -> None:
    n = model.dominant
    assert n * model.dominant_answer() + (model.classes - n) * model.other_answer() == pytest.approx(1)


@given(inputs)
def test_the_skew_follows_from_the_share_of_answers(model: Inputs) -> None:
    share = model.dominant * model.dominant_answer()
    found = skew_of_answers(share, model.classes, model.oracle_accuracy, model.dominant)
    assert found == pytest.approx(model.skew, abs=1e-6)


@pytest.mark.parametrize(("share", "skew"), [(0.0, 0.0), (1.0, 1.0)])
def test_a_skew_is_a_share(share: float, skew: float) -> None:
    assert skew_of_answers(share, 100, 0.6, 5) == skew


@pytest.mark.parametrize(
    ("classes", "window", "k"), [(1000, 30, 2), (1000, 90, 2), (205, 30, 2), (205, 90, 3), (205, 240, 5), (10, 30, 8)]
)
def test_support(classes: int, window: int, k: int) -> None:
    assert support(classes, 0.6, window, bound=0.01) == k


@given(st.integers(2, 3000), st.integers(5, 300), st.floats(1e-4, 0.1))
def test_the_support_is_the_smallest_within_the_bound(classes: int, window: int, bound: float) -> None:
    unskewed, k = Inputs(classes, 0.8), support(classes, 0.8, window, bound)
    assert unskewed.p_out(window, k) <= bound
    assert k == 2 or unskewed.p_out(window, k - 1) > bound


def test_with_two_classes_nothing_is_dominant_in_a_short_window() -> None:
    assert support(2, 1.0, window=5, bound=0.01) == 6


def test_p_in_and_p_out_are_what_windows_show() -> None:
    rng, model = np.random.default_rng(0), Inputs(200, 0.7, 4, 0.8)
    chances = np.where(np.arange(200) < 4, model.dominant_answer(), model.other_answer())
    counts = rng.multinomial(30, chances / chances.sum(), size=4000)
    assert (counts[:, :4] >= 3).mean() == pytest.approx(at_least(3, 30, model.dominant_answer()), abs=0.01)
    assert (counts[:, 4:] >= 3).mean() == pytest.approx(model.p_out(30, 3), abs=3e-4)
