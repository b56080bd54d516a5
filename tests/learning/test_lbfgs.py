"""L-BFGS: where SciPy's gets to, ours gets to."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import fmin_l_bfgs_b, rosen, rosen_der

from learning.lbfgs import Vector, minimised


@pytest.mark.parametrize("seed", range(5))
def test_a_skewed_bowl_is_followed_to_its_bottom(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    bowl, bottom = turn @ np.diag(np.geomspace(1, 1000, 12)) @ turn.T, rng.normal(size=12)

    def function(point: Vector) -> tuple[float, Vector]:
        return float((point - bottom) @ bowl @ (point - bottom)) / 2, bowl @ (point - bottom)

    np.testing.assert_allclose(minimised(function, np.zeros(12), 200, 1e-9, 0.0), bottom, atol=1e-6)


def test_a_bent_valley_takes_about_as_many_steps_as_scipy() -> None:
    asked = []

    def function(point: Vector) -> tuple[float, Vector]:
        asked.append(point)
        return float(rosen(point)), rosen_der(point)

    start = np.array([-1.2, 1.0])
    np.testing.assert_allclose(minimised(function, start, 200, 1e-8, 0.0), np.ones(2), atol=1e-6)
    ours = len(asked)
    fmin_l_bfgs_b(function, start, pgtol=1e-8, factr=1.0)
    assert ours <= 1.5 * (len(asked) - ours)


def test_at_the_bottom_nothing_is_done() -> None:
    start = np.array([1.0, 2.0])
    assert minimised(lambda point: (0.0, np.zeros(2)), start, 10, 1e-9, 0.0) is start


def test_it_ends_where_rounding_leaves_no_way_down() -> None:
    # The slope says that it goes down, the value that it does not.
    start = np.array([1.0])
    assert minimised(lambda point: (5.0, np.ones(1)), start, 10, 1e-9, 0.0) is start


def test_it_ends_after_so_many_steps_or_where_a_step_brings_little() -> None:
    def function(point: Vector) -> tuple[float, Vector]:
        return float(np.exp(-point).sum()), -np.exp(-point)

    one, more = (minimised(function, np.zeros(1), steps, 0.0, 0.0) for steps in (1, 5))
    assert 0 < one[0] < more[0]
    assert minimised(function, np.zeros(1), 5, 0.0, 1.0) == one


def test_heads_are_trained_without_importing_scipy() -> None:
    probe = "import sys, specialization.heads.train; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
