"""Logistic regression finds what scikit-learn's finds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from learning.softmax_regression import PENALTY, fit
from specialization.heads.head import probabilities
from tests.learning.stores import samples


def test_it_agrees_with_scikit_learn() -> None:
    features, labels = samples(800, 4, apart=2.0)
    features = features * np.linspace(1, 50, features.shape[1], dtype=np.float32) + 10
    weights = np.full(len(labels), 1 / len(labels), np.float32)
    ours = probabilities(features, *fit(features, labels.astype(np.intp), weights, 4))
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    theirs = LogisticRegression(C=1 / (PENALTY * len(labels)), tol=1e-6, max_iter=500).fit(standard, labels)
    np.testing.assert_allclose(ours, theirs.predict_proba(standard), atol=0.02)


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
