from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from cache_adapt.bisection import crossing


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans())
def test_it_finds_what_scipy_finds(root: float, width: float, falls: bool) -> None:
    def function(x: float) -> float:
        distance = root - x if falls else x - root
        return distance + distance**3 / width**2

    low, high = root - width, root + 2 * width
    found = crossing(function, low, high)
    assert math.isclose(found, brentq(function, low, high), rel_tol=1e-9, abs_tol=1e-9 * width + 1e-9)
    assert math.isclose(found, root, rel_tol=1e-12, abs_tol=1e-12 * width)


def test_a_root_at_either_end_is_found() -> None:
    assert crossing(lambda x: x, 0.0, 1.0) == pytest.approx(0, abs=1e-300)
    assert crossing(lambda x: x - 1, 0.0, 1.0) == 1
