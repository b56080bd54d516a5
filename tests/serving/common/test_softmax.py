"""Softmax against SciPy's."""

from __future__ import annotations

import numpy as np
import scipy.special

from serving.common.tensors import softmax


def test_it_is_scipys_also_for_large_scores() -> None:
    scores = np.random.default_rng(1).normal(scale=300, size=(20, 7)).astype(np.float32)
    np.testing.assert_allclose(softmax(scores), scipy.special.softmax(scores, axis=1), rtol=1e-5)
    assert softmax(scores).dtype == np.float32
