from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.capture.sources.media_clock import MAX_BROADCAST_GAP_S, DecodedTimes, MediaClock, nominal_interval_s

WRAP_MPEG_S = 2**33 / 90_000
WRAP_RTP_S = 2**32 / 90_000


def placed(stamps: list[float | None], interval_s: float = 0.1, max_gap_s: float = MAX_BROADCAST_GAP_S) -> list[float]:
    clock = MediaClock(interval_s, max_gap_s)
    return [clock.place(DecodedTimes(pts_s=stamp)) for stamp in stamps]


def steps(count: int, start_s: float = 0.0) -> list[float | None]:
    return [start_s + index / 10 for index in range(count)]


TRUTH = [index / 10 for index in range(80)]


@pytest.mark.parametrize(
    "stamps",
    [
        pytest.param(steps(80), id="sound"),
        pytest.param(steps(80, 1e6), id="starts late"),
        pytest.param(steps(80, -3), id="starts before 0"),
        pytest.param([None] * 80, id="none at all"),
        pytest.param([math.nan] * 80, id="not a number"),
        pytest.param([1e308 * (-1) ** index for index in range(80)], id="absurd"),
        pytest.param([None, None, *steps(78, 5)], id="none at first"),
        pytest.param([*steps(40), math.inf, None, *steps(38, 4.2)], id="some missing"),
        pytest.param([*steps(40), *steps(40, 5000)], id="jump forward"),
        pytest.param([*steps(40, 5000), *steps(40)], id="jump back"),
        pytest.param([*steps(40), 5000.0, *steps(39, 4.1)], id="one is far off"),
        pytest.param(steps(80, WRAP_MPEG_S - 4)[:40] + steps(40), id="the clock of MPEG wraps"),
        pytest.param(steps(80, WRAP_RTP_S - 4)[:40] + steps(40), id="the clock of RTP wraps"),
        pytest.param([7.0] * 80, id="stand still"),
        pytest.param([*steps(30), *[3.0] * 30, *steps(20, 3.1)], id="stand still for a while"),
        pytest.param([(index ^ 1) / 10 for index in range(80)], id="neighbours changed places"),
    ],
)
def test_within_a_frame_of_the_truth(stamps: list[float | None]) -> None:
    errors = [abs(found - true) for found, true in zip(placed(stamps), TRUTH, strict=True)]
    assert max(errors) <= 0.1 + 1e-6
    assert errors[0] == 0


def test_a_wrap_loses_no_time() -> None:
    stamps = [WRAP_MPEG_S - 0.2, WRAP_MPEG_S - 0.1, 2.9, 3.0]
    assert placed(stamps) == pytest.approx([0, 0.1, 3.1, 3.2])


def test_frames_out_of_order_lose_and_gain_nothing() -> None:
    order = [0, 4, 2, 1, 3, 8, 6, 5, 7] * 1
    stamps: list[float | None] = [(9 * group + place) / 10 for group in range(50) for place in order]
    found = placed(stamps)
    assert found[-1] == pytest.approx(44.8, abs=0.3)


def test_a_recorder_may_leave_hours_out_of_a_file_and_a_broadcast_may_not() -> None:
    stamps: list[float | None] = [0.0, 0.1, 7200.0, 7200.1]
    assert placed(stamps, max_gap_s=86_400) == pytest.approx([0, 0.1, 7200, 7200.1])
    assert placed(stamps, max_gap_s=10) == pytest.approx([0, 0.1, 0.2, 0.3])


def test_durations_stand_in_for_stamps() -> None:
    clock = MediaClock(0.04)
    durations = [None, 0.5, 0.25, None, 1e9, 0.0]
    found = [clock.place(DecodedTimes(since_s=duration)) for duration in durations]
    assert found == pytest.approx([0, 0.5, 0.75, 0.79, 0.83, 0.87])


def test_decoding_times_stand_in_for_presentation_times() -> None:
    clock = MediaClock(0.04)
    assert [clock.place(DecodedTimes(dts_s=5 + index * 0.3)) for index in range(4)] == pytest.approx([0, 0.3, 0.6, 0.9])
    assert clock.place(DecodedTimes(pts_s=100.0, dts_s=6.2)) == pytest.approx(1.2)
    assert clock.place(DecodedTimes(pts_s=100.5, dts_s=6.5)) == pytest.approx(1.7)


def live(moments: list[tuple[float | None, float]]) -> list[float]:
    clock = MediaClock(0.04)
    return [clock.place(DecodedTimes(pts_s=stamp, since_s=0.04, arrival_s=arrival)) for stamp, arrival in moments]


def test_without_stamps_a_live_source_goes_by_arrival() -> None:
    assert live([(None, 50.0), (None, 50.3), (None, 51.0)]) == pytest.approx([0, 0.3, 1.0])


def test_the_first_stamp_of_a_live_source_comes_a_frame_after_what_had_none() -> None:
    assert live([(None, 50.0), (1.0, 50.0), (1.04, 50.0)]) == pytest.approx([0, 0.04, 0.08])


def test_a_live_source_whose_stamps_jump_goes_on_by_arrival() -> None:
    assert live([(1.0, 50.0), (1.3, 50.35), (9000.0, 50.6), (9000.3, 50.9)]) == pytest.approx([0, 0.3, 0.55, 0.85])
    assert live([(9000.0, 50.0), (9000.3, 50.35), (1.0, 50.6), (1.3, 50.9)]) == pytest.approx([0, 0.3, 0.55, 0.85])


def test_a_live_source_may_send_late_and_all_at_once() -> None:
    moments: list[tuple[float | None, float]] = [(1.0 + index * 0.1, 50.0) for index in range(50)]
    assert live(moments)[-1] == pytest.approx(4.9)
    assert live([(1.0, 50.0), (1.1, 80.0), (31.0, 80.1)]) == pytest.approx([0, 0.1, 30.0])


def test_live_stamps_that_run_away_are_held_back() -> None:
    found = live([(index * 1.0, index * 0.1) for index in range(1000)])
    assert found[-1] <= 99.9 + 61


TIME = st.one_of(st.none(), st.floats(), st.floats(-10, 10), st.floats(-1e5, 1e5))


@given(
    st.lists(st.builds(DecodedTimes, TIME, TIME, TIME, st.one_of(st.none(), st.floats(0, 1e6)))), st.floats(0.001, 60)
)
def test_rises_whatever_comes(frames: list[DecodedTimes], interval_s: float) -> None:
    clock = MediaClock(interval_s)
    found = [clock.place(frame) for frame in frames]
    assert all(earlier < later for earlier, later in pairwise(found))
    assert all(math.isfinite(second) for second in found)
    assert found[:1] in ([], [0.0])


@given(st.lists(st.floats(0.002, 9), min_size=1), st.floats(-1e5, 1e5))
def test_sound_stamps_are_followed_to_the_letter(gaps: list[float], start_s: float) -> None:
    stamps: list[float | None] = [start_s]
    for gap_s in gaps:
        stamps.append((stamps[-1] or 0.0) + gap_s)
    assert placed(stamps) == pytest.approx([(stamp or 0.0) - start_s for stamp in stamps], abs=1e-6)


@pytest.mark.parametrize(
    ("rates", "interval_s"),
    [
        ([12.5, 25.0], 0.08),
        ([None, 10.0], 0.1),
        ([90_000.0, 10.0], 0.1),
        ([0.0, math.nan, -5.0, math.inf, 1e-9], 0.04),
        ([], 0.04),
    ],
)
def test_rates_that_no_camera_has_are_passed_over(rates: list[float | None], interval_s: float) -> None:
    assert nominal_interval_s(rates, 25.0) == pytest.approx(interval_s)
