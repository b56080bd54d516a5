from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.capture.run import Pieces


def test_goes_on_after_a_restart() -> None:
    pieces = Pieces()
    pieces.restart(3.0)  # before anything was placed
    assert pieces.place(7.0) == 0.0
    pieces.restart(3.0)
    assert pieces.place(100.0) == pytest.approx(3.0)
    assert pieces.place(100.5) == pytest.approx(3.5)
    pieces.restart(-20.0)
    assert pieces.place(0.0) == pytest.approx(3.501)


@given(st.lists(st.tuples(st.lists(st.floats(0.001, 10), min_size=1), st.floats(-10, 100)), min_size=1))
def test_never_goes_back(runs: list[tuple[list[float], float]]) -> None:
    pieces = Pieces()
    placed = []
    for steps, gap_s in runs:
        placed += [pieces.place(second) for second in accumulate(steps)]
        pieces.restart(gap_s)
    assert placed[0] == 0
    assert all(earlier < later for earlier, later in pairwise(placed))
