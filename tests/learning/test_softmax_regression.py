"""Logistic regression finds what scikit-learn's finds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from learning.softmax_regression import PENALTY, _step, fit, fit_shares
from serving.common.tensors import softmax
from tests.learning.stores import samples


def probabilities(
    features: NDArray[np.float32], weights: NDArray[np.float32], bias: NDArray[np.float32]
) -> NDArray[np.float32]:
    return softmax(features @ weights + bias)


@pytest.mark.parametrize("mixed", [0.0, 1.0, 5.0])
def test_it_agrees_with_scikit_learn(mixed: float) -> None:
    features, labels = samples(800, 4, apart=2.0)
    # What is mixed is much alike: its loss is far steeper one way than another.
    features = features + mixed * features.sum(axis=1, keepdims=True)
    features = features * np.linspace(1, 50, features.shape[1], dtype=np.float32) + 10
    weights = np.full(len(labels), 1 / len(labels), np.float32)
    ours = probabilities(features, *fit(features, labels.astype(np.intp), weights, 4))
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    theirs = LogisticRegression(C=1 / (PENALTY * len(labels)), tol=1e-6, max_iter=500).fit(standard, labels)
    np.testing.assert_allclose(ours, theirs.predict_proba(standard), atol=0.02)


def test_features_that_are_nearly_one_are_followed_in_few_steps() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 800)).astype(np.float32) + 5 * rng.normal(size=(400, 1)).astype(np.float32)
    labels = rng.integers(0, 2, 400)
    ours = probabilities(features, *fit(features, labels, np.ones(400, np.float32), 2))
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    theirs = LogisticRegression(C=1 / (PENALTY / 2 * 400), tol=1e-6, max_iter=500).fit(standard, labels)
    np.testing.assert_allclose(ours, theirs.predict_proba(standard), atol=0.08)


@pytest.mark.parametrize(("count", "dims"), [(30, 70), (70, 30)])
def test_a_step_is_newtons_by_the_bound_whichever_of_rows_and_features_are_fewer(count: int, dims: int) -> None:
    rng = np.random.default_rng(2)
    rows = (rng.normal(size=(count, dims)) / (2 * count) ** 0.5).astype(np.float32)
    slope = rng.normal(size=(3, dims + 1)).astype(np.float32)
    bound = np.zeros((dims + 1, dims + 1))
    bound[:-1, :-1] = rows.T @ rows + PENALTY * np.eye(dims)
    bound[-1, -1] = 0.5
    expected = slope @ np.linalg.inv(bound)
    np.testing.assert_allclose(_step(rows)(slope), expected, atol=1e-4 * np.abs(expected).max())


def test_targets_may_be_known_by_their_probabilities() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(4000, 1)).astype(np.float32)
    first = 1 / (1 + np.exp(-features))
    found = probabilities(features, *fit_shares(features, np.hstack([first, 1 - first]), np.ones(4000, np.float32)))
    np.testing.assert_allclose(found[:, :1], first, atol=0.05)


def test_rows_count_by_their_weights() -> None:
    features, labels = samples(200, 2, apart=1.0)
    twice = np.where(labels == 0, 2.0, 1.0).astype(np.float32)
    weighted = fit(features, labels.astype(np.intp), twice, 2)
    repeated = np.concatenate([np.arange(200), np.flatnonzero(labels == 0)])
    plain = fit(features[repeated], labels[repeated].astype(np.intp), np.ones(len(repeated), np.float32), 2)
    for one, other in zip(weighted, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=0.02)


def test_features_that_never_vary_tell_nothing() -> None:
    features, labels = samples(200, 2)
    features[:, 3] = 1000
    weights, bias = fit(features, labels.astype(np.intp), np.ones(200, np.float32), 2)
    assert (weights[3] == 0).all()
    assert probabilities(features, weights, bias).argmax(axis=1) == pytest.approx(labels)


def test_one_class_alone_is_learnt() -> None:
    weights, bias = fit(np.ones((50, 3), np.float32), np.zeros(50, np.intp), np.ones(50, np.float32), 2)
    assert (weights == 0).all()
    assert bias[0] > bias[1] + 1


def test_who_trains_does_without_scipy() -> None:
    probe = "import sys, cache_adapt.learned.fit; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
