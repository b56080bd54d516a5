"""Ridge regression on weighted rows (Hoerl and Kennard, 1970): numbers of several outputs from the same features."""

from __future__ import annotations

import numpy as np

from learning.softmax_regression import Rows, standardised

PENALTY = 0.3
"""Weight of the squared weights on standardised features, against the mean squared error of a row."""


def fit(features: Rows, targets: Rows, row_weights: Rows, penalty: float = PENALTY) -> tuple[Rows, Rows]:
    """Weights (D × M) and bias (M) that tell N × M targets of N × D features, which are standardised first."""
    shares, mean, scale = standardised(features, row_weights)
    root = np.sqrt(shares)
    rows, centre = (features - mean) * scale * root, (shares * targets).sum(axis=0)
    wanted = (targets - centre) * root
    count, dims = rows.shape
    # Either way the same: the system is as large as there are rows, or features, whichever are fewer.
    if count < dims:
        weights = rows.T @ np.linalg.solve(rows @ rows.T + penalty * np.eye(count, dtype=np.float32), wanted)
    else:
        weights = np.linalg.solve(rows.T @ rows + penalty * np.eye(dims, dtype=np.float32), rows.T @ wanted)
    weights = (weights * scale[:, None]).astype(np.float32)
    return weights, (centre - mean @ weights).astype(np.float32)
