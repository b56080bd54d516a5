"""Streams that come too fast, in a simulation of one lane."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from pipelines.planning.pace import ArrivalPace

BEST_S, CHEAP_S, SLO_S = 0.030, 0.010, 0.200
DEPTH = 8


def simulate(arrivals_s: list[float], best_s: float = BEST_S, jitter: random.Random | None = None) -> list[bool]:
    """By frame whether it ran by the best plan; asserts that none waits in vain."""
    pace, by_best, free_s, places = ArrivalPace(), list[bool](), 0.0, list(arrivals_s)
    arrived = 0
    while places:
        now_s = max(free_s, places[0])
        while arrived < len(arrivals_s) and arrivals_s[arrived] <= now_s:
            pace.arrived(arrivals_s[arrived])
            arrived += 1
        current, waiting = places.pop(0), [each for each in places if each <= now_s]
        limit_s = pace.limit_s(now_s, [each + SLO_S for each in waiting], best_s, len(waiting) >= DEPTH // 2)
        by_best.append(limit_s is None or best_s <= limit_s)
        took_s = best_s if by_best[-1] else CHEAP_S
        free_s = now_s + took_s * (jitter.uniform(0.9, 1.1) if jitter else 1.0)
        assert free_s <= current + SLO_S
        assert len(waiting) < DEPTH
    return by_best


def switches(by_best: list[bool]) -> int:
    return sum(one != other for one, other in pairwise(by_best))


@pytest.mark.parametrize("interval_s", [0.015, 0.02, 0.025, 0.029, 0.031, 0.034, 0.040, 0.2])
def test_a_constant_load_has_a_constant_answer(interval_s: float) -> None:
    by_best = simulate([interval_s * n for n in range(2000)])
    assert switches(by_best) <= 1
    assert by_best[-1] == (interval_s > BEST_S)


def test_noise_in_the_times_does_not_make_it_swing() -> None:
    by_best = simulate([0.02 * n for n in range(3000)], jitter=random.Random(1))
    assert switches(by_best) == 1


def test_the_best_plan_comes_back_when_the_load_falls() -> None:
    fast = [0.02 * n for n in range(500)]
    by_best = simulate(fast + [fast[-1] + 0.1 * n for n in range(1, 100)])
    assert not by_best[490]
    assert by_best[-1]
    assert switches(by_best) == 2


def test_nothing_is_limited_before_two_frames_came_or_while_nothing_waits() -> None:
    pace = ArrivalPace()
    pace.arrived(0.0)
    assert pace.limit_s(0.0, [0.01, 0.01], BEST_S, True) is None
    pace.arrived(0.02)
    assert pace.limit_s(0.02, [], BEST_S, False) is None
    assert pace.limit_s(0.02, [0.07], BEST_S, False) == pytest.approx(0.95 * 0.02)
