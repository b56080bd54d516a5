"""Rates by the number of classes, averaged over draws of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from specialization.heads.enough import LEAST_OTHERS
from specialization.heads.train import HeadSamples, TooFewSamples
from specialization.heads.validate import TOLERANCES, drawn, ladder, mean, profile
from specialization.rates import Rates
from tests.learning.stores import samples


@pytest.mark.parametrize(
    ("known", "possible", "expected"),
    [
        (7, 7, [1, 2, 3, 5, 6]),
        (1000, 1000, [1, 2, 3, 5, 8, 10, 15, 20]),
        (100, 4, [1, 2, 3, 4]),
        (2, 2, [1]),
        (1, 1, []),
        (5, 0, []),
    ],
)
def test_the_ladder_ends_one_below_all_classes(known: int, possible: int, expected: list[int]) -> None:
    assert ladder(known, possible) == expected


def test_draws_are_different_sets() -> None:
    rng = np.random.default_rng(0)
    many = drawn(range(20), 5, 10, rng)
    assert len(set(many)) == 10
    assert all(len(set(each)) == 5 for each in many)
    assert drawn([3, 5, 9], 2, 10, rng) == [(3, 5), (3, 9), (5, 9)]


def test_the_mean_of_rates() -> None:
    assert mean([Rates(1.0, 0.0, 0.5), Rates(0.5, 0.5, 1.0)]) == Rates(0.75, 0.25, 0.75)


def test_more_classes_and_less_tolerance_let_heads_say_less() -> None:
    shares: list[float] = []
    features, labels = samples(2500, apart=2.5)
    measured = profile(HeadSamples(features, labels), np.random.default_rng(0), draws=4, done=shares.append)
    assert tuple(each.tolerance for each in measured) == TOLERANCES
    assert all(list(each.rates) == [1, 2, 3, 5] for each in measured)
    answered = [1 - each.rates[2].e_in_out for each in measured]
    assert all(low <= high for low, high in pairwise(answered))
    assert answered[0] < answered[-1]
    assert measured[-1].rates[1].a_in > measured[-1].rates[5].a_in
    assert shares[-1] == 1
    assert shares == sorted(shares)


def test_heads_that_never_answer_count_as_such() -> None:
    features, labels = samples(900, apart=0.0)
    measured = profile(HeadSamples(features, labels), np.random.default_rng(0), draws=2)
    assert set(measured[0].rates.values()) == {Rates(0, 1, 1)}


def test_rates_are_those_of_unseen_rows() -> None:
    features, labels = samples(2000, apart=2.5)
    noise = np.random.default_rng(1).normal(size=(2000, 300))
    wide = np.concatenate([features, noise], axis=1)
    narrow, broad = (
        profile(HeadSamples(each, labels), np.random.default_rng(0), draws=2)[-1].rates[2] for each in (features, wide)
    )
    assert broad.a_in < narrow.a_in, "300 features of noise are learnt by heart, and help nobody"


def test_one_class_is_not_enough() -> None:
    features, _ = samples(100)
    with pytest.raises(TooFewSamples, match="100 samples of 1 classes"):
        profile(HeadSamples(features, np.zeros(100, np.int32)), np.random.default_rng(0))


def test_sets_of_classes_that_leave_too_few_others_are_left_out() -> None:
    features, labels = samples(1200, apart=2.5)
    few = np.flatnonzero(labels == 0)[: LEAST_OTHERS - 1]
    rows = np.concatenate([few, np.flatnonzero(labels == 1)])
    measured = profile(HeadSamples(features[rows], labels[rows]), np.random.default_rng(0))
    assert list(measured[0].rates) == [1]
