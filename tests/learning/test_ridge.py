"""Ridge regression finds what scikit-learn's finds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from learning.ridge import fit


@pytest.mark.parametrize(("count", "dims"), [(300, 20), (40, 120)])
def test_it_agrees_with_scikit_learn(count: int, dims: int) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(3, np.linspace(0.1, 9, dims), (count, dims)).astype(np.float32)
    targets = (features[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(count, 2))).astype(np.float32)
    weights = rng.choice([1, 20], count).astype(np.float32)
    shares = weights / weights.sum()
    mean = shares @ features
    standard = (features - mean) / np.sqrt(shares @ (features - mean) ** 2)
    theirs = Ridge(alpha=0.3).fit(standard, targets, sample_weight=shares)
    found, bias = fit(features, targets, weights, penalty=0.3)
    np.testing.assert_allclose(features @ found + bias, theirs.predict(standard), atol=2e-3 * np.abs(targets).max())


def test_features_that_never_vary_tell_nothing() -> None:
    features = np.concatenate([np.full((30, 2), 7.0), np.arange(30.0)[:, None]], axis=1).astype(np.float32)
    weights, bias = fit(features, features[:, 2:], np.ones(30, np.float32), penalty=1e-4)
    assert not weights[:2].any()
    np.testing.assert_allclose(features @ weights + bias, features[:, 2:], atol=0.05)
