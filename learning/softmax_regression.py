"""Multinomial logistic regression on weighted rows: a convex problem, solved by SciPy's L-BFGS.

Its import takes .3 to .4 s of processor time and 32 MB (scikit-learn: 1.9 s, 110 MB), once in the process that trains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Vector = NDArray[np.float64]

PENALTY = 0.03
"""Weight of the squared weights on standardised features, against the mean loss of a row."""
MOST_STEPS = 40
FLAT, GAIN = 1e-3, 2e-6
"""Where the solver may stop: at so little slope, or where a step brings so little of the loss."""


def fit(features: Rows, targets: NDArray[np.intp], row_weights: Rows, outputs: int) -> tuple[Rows, Rows]:
    """Weights (D × outputs) and bias (outputs) that say of N × D features which target 0 … ``outputs`` − 1 they are."""
    truth = np.zeros((len(features), outputs), np.float32)
    truth[np.arange(len(features)), targets] = 1
    return fit_shares(features, truth, row_weights)


def fit_shares(features: Rows, truth: Rows, row_weights: Rows) -> tuple[Rows, Rows]:
    """The same of targets that are known by their probabilities, N × outputs that sum to 1.

    Features are standardised first; weights and bias are for features as they are.
    """
    shares, mean, scale = standardised(features, row_weights)
    # A row for each output: reducing few long rows takes a tenth of what reducing many short ones takes.
    weights, bias = _minimised((features - mean) * scale, np.ascontiguousarray(truth.T, np.float32), shares[:, 0])
    weights = weights * scale[:, None]
    return weights, bias - mean @ weights


def standardised(features: Rows, row_weights: Rows) -> tuple[Rows, Rows, Rows]:
    """The share of each row (N × 1), and the mean (D) and the scale (D) by which features are standardised."""
    shares = (row_weights / row_weights.sum())[:, None]
    mean = (shares * features).sum(axis=0)
    spread = np.sqrt((shares * (features - mean) ** 2).sum(axis=0))
    # What never varies tells nothing; of large numbers rounding alone leaves a little.
    least = 1e-6 + 1e-5 * np.abs(mean)
    return shares, mean, np.where(spread > least, 1 / np.maximum(spread, least), 0).astype(np.float32)


def _minimised(rows: Rows, truth: Rows, share: Rows) -> tuple[Rows, Rows]:
    from scipy.optimize import minimize  # nobody but who trains waits for it

    dims, outputs = rows.shape[1], len(truth)

    def loss(flat: Vector) -> tuple[float, Vector]:
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

    options = {"maxiter": MOST_STEPS, "gtol": FLAT, "ftol": GAIN}
    found = minimize(loss, np.zeros((dims + 1) * outputs), jac=True, method="L-BFGS-B", options=options)
    table = found.x.reshape(dims + 1, outputs).astype(np.float32)
    return table[:-1], table[-1]
