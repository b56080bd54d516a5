from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.capture.timeline import Timeline


@pytest.mark.parametrize(
    ("stamps", "placed"),
    [
        ([10.0, 10.1, 10.3], [0.0, 0.1, 0.3]),
        ([None, 0.1, 0.2], [0.0, 0.1, 0.2]),
        ([5.0, None, 5.2], [0.0, 0.1, 0.2]),
        ([5.0, 5.1, 0.0, 0.1], [0.0, 0.1, 0.2, 0.3]),
        ([5.0, 5.0], [0.0, 0.1]),
        ([-1.0, -0.5], [0.0, 0.5]),
    ],
)
def test_broken_time_stamps(stamps: list[float | None], placed: list[float]) -> None:
    timeline = Timeline(0.1)
    assert [timeline.place(stamp) for stamp in stamps] == pytest.approx(placed)


def test_goes_on_after_a_restart() -> None:
    timeline = Timeline(0.1)
    timeline.restart(3.0)  # before anything was placed
    assert timeline.place(7.0) == 0.0
    timeline.restart(3.0)
    assert timeline.place(100.0) == pytest.approx(3.0)
    assert timeline.place(100.5) == pytest.approx(3.5)
    timeline.restart(-20.0)  # the wall clock was set back
    assert timeline.place(0.0) == pytest.approx(3.6)


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6), st.just("restart")), min_size=1))
def test_never_goes_back(events: list[float | str | None]) -> None:
    timeline = Timeline(0.04)
    placed = []
    for event in events:
        if isinstance(event, str):
            timeline.restart(-1.0)
        else:
            placed.append(timeline.place(event))
    assert all(earlier < later for earlier, later in pairwise(placed))
