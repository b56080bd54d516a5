from __future__ import annotations

from serving.watchdog.patience import Patience, TimeLimits

LIMIT_S = 10.0


def verdicts(patience: Patience, thing: object, times: list[float]) -> list[str]:
    return [patience.look(thing, now) for now in times]


def every(step_s: float, until_s: float, begin: float = 100.0) -> list[float]:
    return [begin + step_s * place for place in range(round(until_s / step_s) + 1)]


def test_what_takes_too_long_is_asked_to_end_once_and_abandoned_after_the_grace() -> None:
    patience = Patience(LIMIT_S, grace_s=2)
    seen = verdicts(patience, object(), every(0.5, 12))
    assert seen == ["wait"] * 20 + ["interrupt"] + ["wait"] * 3 + ["abandon"]


def test_things_that_end_in_time_are_left_alone_however_many_there_are() -> None:
    patience = Patience(LIMIT_S)
    for place in range(20):
        assert set(verdicts(patience, object(), every(0.5, 9, begin=10.0 * place))) == {"wait"}
    assert set(verdicts(patience, None, every(0.5, 100))) == {"wait"}


def test_a_thing_that_ends_during_the_grace_is_forgotten() -> None:
    patience = Patience(LIMIT_S, grace_s=2)
    verdicts(patience, object(), every(0.5, 10.5))
    assert set(verdicts(patience, object(), every(0.5, 9))) == {"wait"}


def test_time_in_which_the_process_was_frozen_does_not_count() -> None:
    patience, thing = Patience(LIMIT_S), object()
    assert verdicts(patience, thing, [0, 0.5, 1.0, 3600, 3600.5, 3601]) == ["wait"] * 6


def test_it_looks_often_enough_for_a_short_limit_and_not_too_often_for_a_long_one() -> None:
    assert Patience(1.0).look_every_s == 0.05
    assert Patience(600.0).look_every_s == 1.0


def test_loading_may_take_longer_than_a_batch() -> None:
    assert TimeLimits(20).load_s == 60
