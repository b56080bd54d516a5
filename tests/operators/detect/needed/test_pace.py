"""How many frames may be skipped, by simulated audits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.detect.needed.pace import FIRST_REST, MOST_CREDIT, PACES, PROBATION_RATE, RATE, SkipPace


def live(pace: SkipPace, frames: int, deficit: Callable[[int], float], seed: int = 0) -> list[int]:
    """The pace at every frame, of a stream on which all frames but every n-th are skipped."""
    rng = np.random.default_rng(seed)
    paces = []
    for number in range(frames):
        pace.frame()
        paces.append(pace.every)
        if number % pace.every:
            weight = pace.skipped(float(rng.random()))
            if weight is not None:
                pace.tell(pace.every, weight, deficit(pace.every))
    return paces


def test_a_good_stream_reaches_the_largest_pace_and_is_audited_seldom_then() -> None:
    pace = SkipPace(0.05)
    paces = live(pace, 60_000, lambda every: 0.0)
    assert paces[0] == 3
    assert paces[-1] == PACES[-1]
    assert pace.proven
    assert RATE < PROBATION_RATE


def test_a_bad_stream_skips_nothing_and_tries_again_ever_more_seldom() -> None:
    pace = SkipPace(0.05)
    paces = live(pace, 40_000, lambda every: 0.5)
    assert paces[-1] == 1
    trials = [number for number in range(1, len(paces)) if paces[number] == 2 and paces[number - 1] == 1]
    assert trials
    assert np.diff([0, *trials]).min() >= FIRST_REST * 0.9
    assert sum(each > 1 for each in paces) < 0.3 * len(paces)
    assert pace.slowed >= 2


def test_the_pace_settles_below_the_one_that_costs_too_much() -> None:
    pace = SkipPace(0.05)
    paces = live(pace, 60_000, lambda every: 0.2 if every > 3 else 0.0)
    assert np.mean([each <= 4 for each in paces]) > 0.99
    assert np.mean([each == 3 for each in paces[20_000:]]) > 0.7


@pytest.mark.parametrize("burst", [1, 25])
def test_at_the_limit_a_pace_is_seldom_proven(burst: int) -> None:
    tried = proven = 0
    for seed in range(100):
        rng, pace = np.random.default_rng(seed), SkipPace(0.05)
        while pace.every > 1 and not pace.proven and tried < 300:
            tried += 1
            proven += is_proven(pace, rng, burst)
    assert tried == 300
    assert proven <= 0.05 * tried


def is_proven(pace: SkipPace, rng: np.random.Generator, burst: int, frames: int = 6_000) -> bool:
    """Skip frames at one pace, one in twenty wrong in bursts, the first ones at once: at no time are they fewer."""
    every = pace.every
    for number in range(frames):
        weight = pace.skipped(float(rng.random()))
        if weight is not None:
            pace.tell(every, weight, float(number % (20 * burst) < burst))
        if pace.proven or pace.every != every:
            break
    return pace.proven


def test_audits_of_another_pace_and_without_room_change_nothing() -> None:
    pace = SkipPace(0.05)
    pace.tell(8, 50.0, 1.0)
    assert pace.evidence.audits == 0
    assert pace.learnt.credit == MOST_CREDIT
    assert pace.skipped(0.0, possible=False) is None


def test_no_tolerance_allows_for_no_skipping() -> None:
    assert set(live(SkipPace(0.0), 5000, lambda every: 0.0)) == {1}


audits = st.tuples(st.floats(0.1, 5.0), st.floats(0.0, 1.0))


@given(st.lists(audits, max_size=300), st.sampled_from([0.01, 0.05, 0.2]))
def test_between_two_uses_of_the_credit_audits_find_little_more_than_they_tolerate(
    told: list[tuple[float, float]], tolerance: float
) -> None:
    pace, begun = SkipPace(tolerance), 0
    beyond = [0.0]
    for weight, deficit in told:
        if pace.every == 1:
            break
        slowed, step = pace.slowed, pace.learnt.step
        pace.tell(pace.every, weight, deficit)
        beyond.append(beyond[-1] + deficit - tolerance * weight)
        assert beyond[-1] - min(beyond[begun:]) <= MOST_CREDIT + 1 + 1e-9
        assert 0 < pace.learnt.credit <= MOST_CREDIT
        assert abs(pace.learnt.step - step) <= 1
        if pace.slowed > slowed:
            assert pace.learnt.credit == MOST_CREDIT
            begun = len(beyond) - 1


@pytest.mark.parametrize("burst", [1, 25])
@pytest.mark.parametrize(
    "share", [lambda every: 0.1 * (every > 3), lambda every: 0.2 * (every > 3), lambda every: 0.01 * (every - 1)]
)
def test_larger_paces_that_are_worse_cost_no_more_than_is_tolerated(share: Callable[[int], float], burst: int) -> None:
    beyond = []
    for seed in range(12):
        rng, pace, found, luck = np.random.default_rng(seed), SkipPace(0.05), list[float](), 0.0
        for number in range(20_000):
            pace.frame()
            luck = float(rng.random()) if number % burst == 0 else luck
            if number % pace.every == 0:
                continue
            found.append(float(luck < share(pace.every)))
            weight = pace.skipped(float(rng.random()))
            if weight is not None:
                pace.tell(pace.every, weight, found[-1])
        beyond.append(np.mean(found))
    assert np.mean(beyond) <= 0.055


def test_faultless_paces_are_left_after_as_many_audits_as_tolerate_one_deficit() -> None:
    pace, told = SkipPace(0.05), list[int]()
    for _ in range(70):
        told.append(pace.every)
        pace.tell(pace.every, 1.0, 0.0)
    assert [told.count(every) for every in (3, 4, 6)] == [20, 20, 20]


def test_a_pace_with_more_than_half_of_the_tolerated_deficits_is_kept() -> None:
    pace = SkipPace(0.05)
    for number in range(2_000):
        pace.tell(3, 1.0, 0.7 * (number % 20 == 9))
    assert pace.every == 3
    assert pace.slowed == 0


def test_a_good_past_does_not_pay_for_a_bad_present() -> None:
    pace = SkipPace(0.05)
    for _ in range(10_000):
        pace.tell(pace.every, 1.0, 0.0)
    assert pace.proven
    for _ in range(5):
        pace.tell(PACES[-1], 1.0, 1.0)
    assert pace.every == PACES[-2]
