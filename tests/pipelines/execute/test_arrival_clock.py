"""Frames on their way between two machines whose clocks are simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.execute.moments import Age, Arrival, ArrivalClock

HOUR_S = 3600.0
TRAVEL_S = 0.08
Error = Callable[[float], float]


def right(second: float) -> float:
    return 0.0


def by(error_s: float, since_s: float = 0.0, until_s: float = 1e9) -> Error:
    return lambda second: error_s if since_s <= second < until_s else 0.0


@dataclass
class Journey:
    """A camera of ten frames a second; ``theirs`` and ``ours`` say by how much the clocks are wrong at each moment."""

    theirs: Error = right
    ours: Error = right
    travel: Error = lambda second: TRAVEL_S
    run: Callable[[float], str] = lambda second: "run"
    idle: bool = True

    def ages(
        self, seconds: float, clock: ArrivalClock | None = None, first_s: float = 0.0
    ) -> Iterator[tuple[float, Age]]:
        """When each frame was captured, and what the clock made of it."""
        clock = clock or ArrivalClock()
        arrived_s = first_s
        for seq in range(round(first_s * 10), round(seconds * 10)):
            captured_s = seq / 10
            arrived_s = max(arrived_s, captured_s + self.travel(captured_s))
            seen = Arrival(
                run=self.run(captured_s),
                seq=seq,
                captured_s=1e9 + captured_s + self.theirs(captured_s),
                media_time_s=captured_s,
                day_s=1e9 + arrived_s + self.ours(arrived_s),
                passed_s=arrived_s,
                idle=self.idle,
            )
            yield captured_s, clock.read(seen)


def test_clocks_that_are_right() -> None:
    for _, age in Journey().ages(100):
        assert age == Age(pytest.approx(TRAVEL_S, abs=1e-6), True)


def test_clocks_that_are_a_little_wrong_are_believed() -> None:
    assert all(age.known for _, age in Journey(theirs=by(0.3)).ages(10))
    assert all(age.age_s >= 0 for _, age in Journey(theirs=by(0.3)).ages(10))


@pytest.mark.parametrize("error_s", [2 * HOUR_S, 10.0, 0.7])
def test_capture_ahead_is_found_out_at_once_and_makes_nothing_late(error_s: float) -> None:
    for _, age in Journey(theirs=by(error_s)).ages(100):
        assert not age.known
        assert age.age_s < 0.1


@pytest.mark.parametrize("error_s", [-2 * HOUR_S, -90.0, -20 * HOUR_S])
def test_capture_behind_is_found_out_when_frames_come_as_if_they_had_not_waited(error_s: float) -> None:
    later = [age for second, age in Journey(theirs=by(error_s)).ages(100) if second > 12]
    assert not any(age.known for age in later)
    assert max(age.age_s for age in later) < 0.1


@pytest.mark.parametrize("error_s", [2 * HOUR_S, -2 * HOUR_S, 30.0, -30.0, 3.0, -3.0])
@pytest.mark.parametrize("side", ["theirs", "ours"])
def test_a_clock_that_is_set_in_mid_run_and_put_right_again(side: str, error_s: float) -> None:
    journey = Journey(**{side: by(error_s, 50, 100)})
    for second, age in journey.ages(150):
        assert age.age_s < 0.2 or age.age_s == pytest.approx(TRAVEL_S, abs=0.2)
        if second < 49.8 or second > 100.2:
            assert age == Age(pytest.approx(TRAVEL_S, abs=0.01), True)
        elif 50.2 < second < 99.8:
            assert not age.known


def test_what_waits_while_the_clocks_disagree_is_seen_to_wait() -> None:
    journey = Journey(theirs=by(2 * HOUR_S), travel=lambda second: 5.0 if 40 <= second < 41 else TRAVEL_S)
    waited = [age.age_s for second, age in journey.ages(60) if second == 40]
    assert waited == [pytest.approx(5.0 - TRAVEL_S, abs=0.05)]


@pytest.mark.parametrize("drift", [1e-4, -1e-4])
def test_a_clock_that_drifts_makes_no_frame_late(drift: float) -> None:
    journey = Journey(theirs=lambda second: 2 * HOUR_S + drift * second)
    assert max(age.age_s for _, age in journey.ages(10_000)) < 0.1


def test_a_real_backlog_is_believed_however_old() -> None:
    journey = Journey(travel=lambda second: max(TRAVEL_S, 3 * HOUR_S - 0.9 * second))
    ages = [age for _, age in journey.ages(500)]
    assert all(age.known for age in ages)
    assert min(age.age_s for age in ages) > 2.5 * HOUR_S


def test_a_worker_that_cannot_keep_up_believes_that_its_frames_waited() -> None:
    ages = [age for _, age in Journey(travel=by(300.0), idle=False).ages(500)]
    assert all(age == Age(pytest.approx(300.0), True) for age in ages)


def test_a_new_worker_judges_anew() -> None:
    journey = Journey(theirs=by(2 * HOUR_S))
    list(journey.ages(50))
    assert not any(age.known for _, age in journey.ages(100, ArrivalClock(), first_s=50))


def test_capture_that_comes_back_with_its_clock_put_right() -> None:
    journey = Journey(theirs=by(2 * HOUR_S, 0, 50), run=lambda second: "one" if second < 50 else "two")
    assert all(age.known is (second >= 50) for second, age in journey.ages(100))


def test_a_frame_that_comes_again_teaches_nothing() -> None:
    clock = ArrivalClock()
    list(Journey().ages(50, clock))
    again = list(Journey(travel=by(60.0)).ages(20, clock))
    assert all(age.known for _, age in again)
    assert all(age.known for _, age in Journey().ages(100, clock, first_s=50))


@given(
    st.lists(
        st.builds(
            Arrival,
            st.sampled_from(["one", "two"]),
            st.integers(0, 100),
            st.floats(-1e9, 1e10),
            st.floats(0, 1e9),
            st.floats(-1e9, 1e10),
            st.floats(0, 1e6),
            st.booleans(),
        )
    )
)
def test_whatever_comes_no_age_is_negative(frames: list[Arrival]) -> None:
    clock = ArrivalClock()
    for seen in frames:
        age = clock.read(seen)
        assert age.age_s >= 0
        assert not age.known or age.age_s == max(0.0, seen.age_s)
