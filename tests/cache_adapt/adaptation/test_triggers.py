"""When something is trained anew."""

from __future__ import annotations

from itertools import pairwise

from cache_adapt.adaptation.triggers import FIRST_SAMPLES, LEAST_NEW, PAUSE_S, PERIOD_S, History, why_train


def served(at_s: float = 0.0, samples: int = 0) -> History:
    history = History()
    history.tried(at_s, samples, gained=True)
    return history


def test_what_was_never_tried_is_trained_even_without_samples() -> None:
    assert why_train(History(), 0.0, 0) == "wanted"


def test_what_serves_is_trained_anew_after_a_while() -> None:
    assert why_train(served(), PERIOD_S - 1, LEAST_NEW) is None
    assert why_train(served(), PERIOD_S, LEAST_NEW) == "schedule"


def test_nothing_is_trained_on_the_samples_of_the_time_before() -> None:
    assert why_train(served(samples=500), PERIOD_S, 500 + LEAST_NEW - 1) is None


def test_samples_that_are_counted_anew_count() -> None:
    assert why_train(served(samples=5000), PERIOD_S, LEAST_NEW) == "schedule"


def test_with_twice_as_many_samples_it_is_trained_again_however_soon_and_whatever_came_of_the_last() -> None:
    history, samples, trained = History(), 0, []
    for samples in range(FIRST_SAMPLES, 4800, 10):  # a stream that is seen within a second
        if why_train(history, 0.0, samples):
            trained.append(samples)
            history.tried(0.0, samples, gained=samples > 1000)
    assert trained == [150, 300, 600, 1200, 2400]


def test_few_samples_that_double_are_no_reason() -> None:
    assert why_train(served(samples=10), 0.0, FIRST_SAMPLES - 1) is None
    assert why_train(served(samples=10), 0.0, FIRST_SAMPLES) == "more samples"


def test_a_version_that_was_found_ready_made_is_not_made_anew_for_samples_that_were_there_before() -> None:
    assert why_train(served(samples=0), 0.0, 5000) is None


def test_what_brings_nothing_is_tried_after_twice_as_long_each_time() -> None:
    history, tried = served(samples=10**6), []
    for now_s in range(0, 10 * PERIOD_S, 10):
        if why_train(history, now_s, 10**6 + now_s * 100):
            tried.append(now_s)
            history.tried(now_s, 10**6 + now_s * 100, gained=False)
    gaps = [later - one for one, later in pairwise(tried)]
    assert tried[0] == PERIOD_S
    assert gaps == [max(PERIOD_S, PAUSE_S * 2**n) for n in range(len(gaps))]
    assert gaps[-1] > PERIOD_S


def test_a_gain_begins_the_gaps_anew() -> None:
    history = served()
    for _ in range(5):
        history.tried(0.0, 0, gained=False)
    assert why_train(history, PERIOD_S, LEAST_NEW) is None
    history.tried(0.0, 0, gained=True)
    assert why_train(history, PERIOD_S, LEAST_NEW) == "schedule"


def test_what_has_failed_is_wanted_until_it_is_there() -> None:
    history = History()
    history.tried(0.0, 10, gained=False)
    assert why_train(history, PAUSE_S, 10) is None, "nothing has come since"
    assert why_train(history, PAUSE_S, 10 + LEAST_NEW) == "wanted"
