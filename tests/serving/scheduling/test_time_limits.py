from __future__ import annotations

from serving.scheduling.limits import NetworkBounds, Stopwatch


def taken(watch: Stopwatch, thing: object, times: list[float]) -> list[float]:
    return [watch.taken_s(thing, now) for now in times]


def test_time_is_counted_from_the_first_look_at_a_thing() -> None:
    watch, first, second = Stopwatch(10.0), object(), object()
    assert taken(watch, first, [100.0, 100.5, 101.0]) == [0.0, 0.5, 1.0]
    assert taken(watch, second, [101.5, 102.0]) == [0.0, 0.5]
    assert taken(watch, first, [102.5, 103.0]) == [0.0, 0.5]


def test_nothing_takes_no_time() -> None:
    assert taken(Stopwatch(10.0), None, [100.0, 100.5, 101.0]) == [0.0, 0.0, 0.0]


def test_time_in_which_the_process_was_frozen_does_not_count() -> None:
    assert taken(Stopwatch(10.0), object(), [0, 0.5, 1.0, 3600, 3600.5]) == [0.0, 0.5, 1.0, 2.0, 2.5]


def test_it_looks_often_enough_for_a_short_limit_and_not_too_often_for_a_long_one() -> None:
    assert Stopwatch(1.0).look_every_s == 0.05
    assert Stopwatch(600.0).look_every_s == 1.0


def test_loading_may_take_longer_than_a_batch() -> None:
    assert NetworkBounds(batch_s=20).load_s == 60
