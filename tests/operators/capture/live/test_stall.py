"""How long a live source may be silent, by the pace at which it sends."""

from __future__ import annotations

import pytest

from operators.capture.live.stall import FADING, LONGEST_S, SLACK, StallWatch


def connected(watch: StallWatch, *alive_s: float) -> StallWatch:
    watch.connected()
    for now_s in alive_s:
        watch.alive(now_s)
    return watch


@pytest.mark.parametrize("burst", [(0.0,), (0.0, 0.01, 0.02)])
def test_one_that_falls_silent_soon_is_given_twice_as_long_the_next_time(burst: tuple[float, ...]) -> None:
    watch, given = StallWatch(10.0), []
    for _ in range(6):
        given.append(connected(watch, *burst).timeout_s)
        watch.stalled()
    assert given == [10.0, 20.0, 40.0, 80.0, LONGEST_S, LONGEST_S]


def test_one_that_sends_nothing_at_all_is_given_no_more_time() -> None:
    watch = connected(StallWatch(10.0))
    watch.stalled()
    assert watch.timeout_s == 10.0


def test_one_that_falls_silent_late_is_given_no_more_time() -> None:
    watch = connected(StallWatch(10.0), *range(3600))
    watch.stalled()
    assert connected(watch, 4000.0).timeout_s == 10.0


def test_one_that_sends_seldom_may_be_silent_for_a_few_of_its_longest_pauses() -> None:
    watch = connected(StallWatch(10.0), 0.0, 1.0, 2.0, 10.0)
    assert watch.timeout_s == SLACK * 8.0
    watch.alive(110.0)
    assert watch.timeout_s == LONGEST_S
    watch.stalled()
    assert connected(watch, 500.0).timeout_s == LONGEST_S, "its pace is known when it is connected again"


def test_one_that_sends_often_again_is_watched_as_closely_as_before() -> None:
    watch = connected(StallWatch(10.0), 0.0)
    watch.stalled()
    assert connected(watch, 100.0, 101.0).timeout_s == 20.0
    assert connected(watch, *range(200, 221)).timeout_s == 10.0


def test_a_pause_that_was_long_ago_is_forgotten() -> None:
    """A camera that was away for a moment, weeks before it dies, is missed as soon as one that never was."""
    watch = connected(StallWatch(10.0), 0.0, 39.0)
    assert watch.timeout_s == SLACK * 39.0
    now_s = 39.0
    for given_s in (90.0, 60.0, 30.0, 10.0):
        while watch.timeout_s > given_s:
            watch.alive(now_s := now_s + 1.0)
            assert now_s < 39.0 + 39.0 / FADING
    assert watch.timeout_s == 10.0
    watch.stalled()
    assert connected(watch, 5000.0).timeout_s == 10.0


def test_one_that_sends_now_after_a_minute_and_now_after_half_of_one_has_not_stalled() -> None:
    watch, now_s = connected(StallWatch(10.0), 0.0), 0.0
    for pause_s in (9.0, 20.0, *(100 * (30.0, 60.0))):
        watch.alive(now_s := now_s + pause_s)
        assert watch.timeout_s >= min(2 * pause_s, LONGEST_S)
    assert watch.timeout_s == LONGEST_S


def test_a_time_that_is_longer_than_the_longest_holds() -> None:
    assert connected(StallWatch(600.0), 0.0, 500.0).timeout_s == 600.0


def test_a_source_that_is_given_up_sooner_is_not_waited_for() -> None:
    assert StallWatch(10.0, 2.0).timeout_s == 2.0
    assert connected(StallWatch(10.0, 60.0), 0.0, 39.0).timeout_s == 60.0
