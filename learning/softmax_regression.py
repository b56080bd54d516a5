"""Multinomial logistic regression on weighted rows: a convex problem, solved by L-BFGS.

scikit-learn has the same; whoever trains a head need not import it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learning.lbfgs import minimised

Rows = NDArray[np.float32]

PENALTY = 0.03
"""Weight of the squared weights on standardised features, against the mean loss of a row."""
MOST_STEPS = 30
FLAT, GAIN = 1e-3, 2e-6
"""Where the solver may stop: at so little slope, or where a step brings so little of the loss."""


def fit(features: Rows, targets: NDArray[np.intp], row_weights: Rows, outputs: int) -> tuple[Rows, Rows]:
    """Weights (D × outputs) and bias (outputs) that say of N × D features which target 0 … ``outputs`` − 1 they are.

    Features are standardised first; weights and bias are for features as they are.
    """
    shares = (row_weights / row_weights.sum())[:, None]
    mean = (shares * features).sum(axis=0)
    spread = np.sqrt((shares * (features - mean) ** 2).sum(axis=0))
    # What never varies tells nothing.
    scale = np.where(spread > 1e-6, 1 / np.maximum(spread, 1e-6), 0).astype(np.float32)
    weights, bias = _minimised((features - mean) * scale, targets, shares, outputs)
    weights = weights * scale[:, None]
    return weights, bias - mean @ weights


def _minimised(rows: Rows, targets: NDArray[np.intp], shares: Rows, outputs: int) -> tuple[Rows, Rows]:
    # A row for each output: reducing few long rows takes a tenth of what reducing many short ones takes.
    truth = np.zeros((outputs, len(rows)), np.float32)
    truth[targets, np.arange(len(rows))] = 1
    dims, share = rows.shape[1], shares[:, 0]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        table = flat.reshape(dims + 1, outputs).astype(np.float32)
        weights = table[:-1]
        scores = weights.T @ rows.T + table[-1][:, None]
        scores -= scores.max(axis=0)
        powers = np.exp(scores)
        sums = powers.sum(axis=0)
        entropy = (share * (np.log(sums) - (scores * truth).sum(axis=0))).sum()
        slope = np.empty((dims + 1, outputs))
        error = share * (powers / sums - truth)
        slope[:-1] = (error @ rows).T + PENALTY * weights
        slope[-1] = error.sum(axis=1)
        return float(entropy + PENALTY / 2 * (weights**2).sum()), slope.ravel()

    # Further steps change no answers, only how sure they are.
    found = minimised(loss, np.zeros((dims + 1) * outputs), MOST_STEPS, FLAT, GAIN)
    table = found.reshape(dims + 1, outputs).astype(np.float32)
    return table[:-1], table[-1]
