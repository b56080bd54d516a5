from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.capture.sources.sampling import Sampler, Sampling


def taken(sampling: Sampling, times_s: list[float]) -> list[float]:
    sampler = Sampler(sampling)
    return [time_s for time_s in times_s if sampler.takes(time_s)]


def test_all_and_keyframes_take_what_they_are_shown() -> None:
    times_s = [0.0, 0.0, 0.1, 5.0]
    assert taken(Sampling(), times_s) == times_s
    assert taken(Sampling("keyframes"), times_s) == times_s


def test_five_of_twelve() -> None:
    assert len(taken(Sampling("fps", 5), [k / 12 for k in range(120)])) == 50


def test_no_drift_over_a_day() -> None:
    count = 12 * 86_400
    chosen = taken(Sampling("fps", 0.7), [k / 12 for k in range(count)])
    assert abs(len(chosen) - 86_400 * 0.7) < 2


def test_time_stamps_rounded_to_milliseconds_lose_nothing() -> None:
    times_s = [round(k / 12, 3) for k in range(1000)]
    assert taken(Sampling("fps", 12), times_s) == times_s


@given(
    fps=st.floats(0.1, 60),
    steps=st.lists(st.floats(0.001, 3), min_size=1, max_size=200),
)
def test_at_most_one_per_interval_and_none_left_out(fps: float, steps: list[float]) -> None:
    times_s = [0.0]
    for step in steps:
        times_s.append(times_s[-1] + step)
    chosen = taken(Sampling("fps", fps), times_s)
    assert chosen[0] == 0.0
    assert len(chosen) <= (times_s[-1] + 0.002) * fps + 1.001
    for earlier, later in pairwise(chosen):
        between = [time_s for time_s in times_s if earlier < time_s < later]
        assert all(time_s - earlier < 1.001 / fps + 0.002 for time_s in between)


@pytest.mark.parametrize(("mode", "fps"), [("fps", None), ("fps", 0), ("fps", float("nan")), ("all", 5)])
def test_refuses_nonsense(mode: str, fps: float | None) -> None:
    with pytest.raises(ValueError, match="fps"):
        Sampling(mode, fps)  # type: ignore[arg-type]
