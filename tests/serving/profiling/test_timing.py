from __future__ import annotations

import random
from functools import partial

import pytest

from serving.profiling.timing import LEAST_ROUNDS, MOST_ROUNDS, batch_sizes, median, p95, take_turns
from serving.variants.profiles import pareto


class Clock:
    """Runs tell it how long they take."""

    def __init__(self) -> None:
        self.now, self.order = 0.0, []

    def run(self, name: str, seconds: float) -> str:
        self.now += seconds
        self.order.append(name)
        return name


def turns(budget_s: float, **seconds: float) -> tuple[dict[str, list[str]], Clock]:
    clock = Clock()
    runs = {name: partial(clock.run, name, each) for name, each in seconds.items()}
    return take_turns(runs, budget_s, random.Random(0), lambda: clock.now), clock


def test_all_run_in_every_round_and_the_first_warms_up() -> None:
    found, clock = turns(0.1, a=1.0, b=2.0, c=3.0)
    assert {name: len(each) for name, each in found.items()} == dict.fromkeys("abc", LEAST_ROUNDS)
    rounds = [clock.order[start : start + 3] for start in range(0, len(clock.order), 3)]
    assert [sorted(each) for each in rounds] == [["a", "b", "c"]] * (LEAST_ROUNDS + 1)
    assert len({tuple(each) for each in rounds}) > 1


def test_rounds_fill_the_budget_and_do_not_exceed_it() -> None:
    found, clock = turns(62.0, a=1.0, b=4.0)
    assert len(found["a"]) == 12
    assert clock.now == 5 + 60


def test_what_takes_no_time_ends() -> None:
    assert len(turns(1.0, a=0.0)[0]["a"]) == MOST_ROUNDS


def test_progress_goes_from_0_to_1() -> None:
    clock, told = Clock(), list[float]()
    take_turns({"a": partial(clock.run, "a", 1.0)}, 10.0, random.Random(0), lambda: clock.now, told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] == 1.0


@pytest.mark.parametrize(("most", "sizes"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (16, [1, 2, 4, 8, 16])])
def test_batch_sizes_are_powers_of_two_and_the_largest(most: int, sizes: list[int]) -> None:
    assert batch_sizes(most) == sizes


def test_median_and_p95() -> None:
    assert median([3.0, 1.0, 100.0]) == 3.0
    assert p95([float(n) for n in range(101)]) == 95.0


def test_the_pareto_front() -> None:
    points = [(1.0, 0.5), (2.0, 0.9), (2.0, 0.8), (3.0, 0.9), (0.5, 0.1), (1.0, 0.5)]
    assert pareto(points) == [True, True, False, False, True, True]
    assert pareto([]) == []
