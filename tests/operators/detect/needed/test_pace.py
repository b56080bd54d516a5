"""How many frames may be skipped, by simulated audits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from operators.detect.needed.pace import FIRST_REST, PACES, PROBATION_RATE, RATE, Pace


def live(pace: Pace, frames: int, deficit: Callable[[int], float], seed: int = 0) -> list[int]:
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
    pace = Pace(0.05)
    paces = live(pace, 60_000, lambda every: 0.0)
    assert paces[0] == 3
    assert paces[-1] == PACES[-1]
    assert pace.proven
    assert RATE < PROBATION_RATE


def test_a_bad_stream_skips_nothing_and_tries_again_ever_more_seldom() -> None:
    pace = Pace(0.05)
    paces = live(pace, 40_000, lambda every: 0.5)
    assert paces[-1] == 1
    trials = [number for number in range(1, len(paces)) if paces[number] == 2 and paces[number - 1] == 1]
    assert trials
    assert np.diff([0, *trials]).min() >= FIRST_REST * 0.9
    assert sum(each > 1 for each in paces) < 0.3 * len(paces)
    assert pace.slowed >= 2


def test_the_pace_settles_below_the_one_that_costs_too_much() -> None:
    pace = Pace(0.05)
    paces = live(pace, 60_000, lambda every: 0.2 if every > 3 else 0.0)
    assert np.mean([each <= 4 for each in paces]) > 0.99
    assert np.mean([each == 3 for each in paces[20_000:]]) > 0.7


def test_at_the_limit_a_pace_is_seldom_proven() -> None:
    proven = 0
    for seed in range(200):
        rng, pace = np.random.default_rng(seed), Pace(0.05)
        for _ in range(400):
            pace.tell(3, 1.0, float(rng.random() < 0.05))
            if pace.every != 3 or pace.proven:
                break
        proven += pace.every > 3 or pace.proven
    assert proven <= 10


def test_audits_of_another_pace_and_without_room_change_nothing() -> None:
    pace = Pace(0.05)
    pace.tell(8, 50.0, 1.0)
    assert pace.evidence.audits == 0
    assert pace.skipped(0.0, possible=False) is None


def test_no_tolerance_allows_for_no_skipping() -> None:
    assert set(live(Pace(0.0), 5000, lambda every: 0.0)) == {1}
