"""When something is trained anew, and when chance alone must not cause it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.adaptation.triggers import (
    ERROR,
    FIRST_SAMPLES,
    LEAST_NEW,
    PAUSE_S,
    PERIOD_S,
    History,
    VersionUse,
    falls_short,
    has_drifted,
    why_train,
)
from cache_adapt.audit.confidence import exact

AGREEMENT = 0.97
MIX = {0: 80, 1: 40}


def served(at_s: float = 0.0, samples: int = 0) -> History:
    history = History()
    history.tried(at_s, samples, MIX, gained=True)
    return history


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (VersionUse(), None),
        (VersionUse(asked=400, answered=320, expected=320.0, mix=MIX), None),
        (VersionUse(asked=400, answered=200, expected=320.0, mix=MIX), "hit rate"),
        (VersionUse(asked=4, answered=1, expected=3.2, mix=MIX), None),
        (VersionUse(audits=200, agreed=200, mix=MIX), None),
        (VersionUse(audits=200, agreed=180, mix=MIX), "agreement"),
        (VersionUse(mix={0: 10, 2: 110}), "class mix"),
    ],
)
def test_something_is_trained_anew_when_it_does_worse_than_was_expected(seen: VersionUse, reason: str | None) -> None:
    assert why_train(served(), PAUSE_S, LEAST_NEW, seen, AGREEMENT) == reason


def test_what_was_never_tried_is_trained_even_without_samples() -> None:
    assert why_train(History(), 0.0, 0, VersionUse(), AGREEMENT) == "wanted"


def test_what_does_well_is_trained_anew_after_a_while() -> None:
    seen = VersionUse(asked=400, answered=320, expected=320.0, mix=MIX)
    assert why_train(served(), PERIOD_S - 1, LEAST_NEW, seen, AGREEMENT) is None
    assert why_train(served(), PERIOD_S, LEAST_NEW, seen, AGREEMENT) == "schedule"


def test_nothing_is_trained_on_the_samples_of_the_time_before() -> None:
    assert why_train(served(samples=500), PERIOD_S, 500 + LEAST_NEW - 1, VersionUse(), AGREEMENT) is None


def test_samples_that_are_counted_anew_count() -> None:
    assert why_train(served(samples=5000), PERIOD_S, LEAST_NEW, VersionUse(), AGREEMENT) == "schedule"
    assert why_train(served(samples=5000), PERIOD_S, LEAST_NEW - 1, VersionUse(), AGREEMENT) is None


def test_a_bad_figure_does_not_cause_a_second_training_at_once() -> None:
    bad = VersionUse(asked=400, answered=0, expected=320.0)
    assert why_train(served(at_s=100.0), 100.0 + PAUSE_S - 1, 1000, bad, AGREEMENT) is None


def test_with_twice_as_many_samples_it_is_trained_again_however_soon_and_whatever_came_of_the_last() -> None:
    history, samples, trained = History(), 0, []
    for samples in range(FIRST_SAMPLES, 4800, 10):  # a stream that is seen within a second
        if why_train(history, 0.0, samples, VersionUse(), AGREEMENT):
            trained.append(samples)
            history.tried(0.0, samples, MIX, gained=samples > 1000)
    assert trained == [150, 300, 600, 1200, 2400]


def test_few_samples_that_double_are_no_reason() -> None:
    assert why_train(served(samples=10), 0.0, FIRST_SAMPLES - 1, VersionUse(), AGREEMENT) is None
    assert why_train(served(samples=10), 0.0, FIRST_SAMPLES, VersionUse(), AGREEMENT) == "more samples"


def test_a_version_that_was_found_ready_made_is_not_made_anew_for_samples_that_were_there_before() -> None:
    assert why_train(served(samples=0), 0.0, 5000, VersionUse(), AGREEMENT) is None


def test_what_brings_nothing_is_tried_after_twice_as_long_each_time() -> None:
    history, now_s, tried = served(samples=10**6), 0.0, []
    bad = VersionUse(asked=400, answered=0, expected=320.0)
    for now_s in range(0, 4000, 10):
        if why_train(history, now_s, 10**6 + now_s * 100, bad, AGREEMENT) == "hit rate":
            tried.append(now_s)
            history.tried(now_s, 10**6 + now_s * 100, MIX, gained=False)
    gaps = np.diff(tried)
    assert gaps.tolist() == [PAUSE_S * 2**n for n in range(len(gaps))]
    assert len(gaps) >= 4


def test_a_gain_begins_the_gaps_anew() -> None:
    history = served()
    for _ in range(5):
        history.tried(0.0, 0, MIX, gained=False)
    assert why_train(history, PERIOD_S, LEAST_NEW, VersionUse(), AGREEMENT) is None
    history.tried(0.0, 0, MIX, gained=True)
    assert why_train(history, PERIOD_S, LEAST_NEW, VersionUse(), AGREEMENT) == "schedule"


def test_what_has_failed_is_wanted_until_it_is_there() -> None:
    history = History()
    history.tried(0.0, 10, {}, gained=False)
    assert why_train(history, PAUSE_S, 10, VersionUse(), AGREEMENT) is None, "nothing has come since"
    assert why_train(history, PAUSE_S, 10 + LEAST_NEW, VersionUse(), AGREEMENT) == "wanted"


@pytest.mark.parametrize("classes", [2, 6, 30])
def test_a_mix_that_stays_hardly_ever_seems_to_drift(classes: int) -> None:
    rng = np.random.default_rng(classes)
    shares = rng.dirichlet(np.ones(classes))
    alarms = sum(
        has_drifted(
            Counter(rng.choice(classes, n, p=shares).tolist()), Counter(rng.choice(classes, m, p=shares).tolist())
        )
        for n, m in rng.integers(50, 500, (300, 2))
    )
    assert alarms == 0


def test_new_classes_are_found_from_two_hundred_objects_on() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(100):
        before, now = (
            Counter(rng.choice(6, 240, p=p).tolist()) for p in ([0.5, 0.4, 0.1, 0, 0, 0], [0.1, 0, 0, 0, 0.4, 0.5])
        )
        found += has_drifted(before, now)
    assert found == 100


@given(st.integers(1, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))), st.floats(-0.1, 1.0))
def test_a_share_falls_short_where_its_upper_bound_does(counts: tuple[int, int], expected: float) -> None:
    hits, of = counts
    bound = exact(of - hits, of, 2 * ERROR).high
    if abs(bound - expected) > 1e-6:
        assert falls_short(hits, of, expected) == (bound < expected)


def test_chance_rarely_makes_a_share_fall_short() -> None:
    rng = np.random.default_rng(0)
    assert np.mean([falls_short(int(rng.binomial(200, 0.8)), 200, 0.8) for _ in range(5000)]) <= 0.002
    assert not falls_short(0, 0, 0.9)
