from __future__ import annotations

import pytest

from operators.testing import card_of
from serving.common.tensors import Array
from serving.errors import ModelError
from serving.profiling.in_service import BATCHES, REST, RUNS, quiet_times
from tests.fake_clock import FakeClock


async def at_once(seconds: float) -> None:
    """Rest for no time."""


async def test_delays_by_others_do_not_count_and_times_never_fall() -> None:
    clock, seen, rests = FakeClock(), list[int](), list[float]()

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    async def infer(batch: Array) -> None:
        seen.append(len(batch))
        run = seen.count(len(batch))
        took = {1: 0.010, 2: 0.009, 4: 0.020, 8: 0.040}[len(batch)]
        clock.advance({1: 9.0, 2: 0.001}.get(run, took if run % 2 else 5.0))  # others run in between

    found = await quiet_times(card_of("m"), infer, clock.monotonic_s, rest)
    assert found == pytest.approx({1: 0.010, 2: 0.010, 4: 0.020, 8: 0.040})
    assert sum(rests) == pytest.approx(REST * clock.monotonic_s() - REST * 1000)
    assert seen == [size for size in BATCHES for _ in range(RUNS + 1)]


async def test_batches_are_no_larger_than_the_card_allows_and_errors_are_the_callers() -> None:
    seen: list[int] = []

    async def infer(batch: Array) -> None:
        seen.append(len(batch))

    await quiet_times(card_of("m", max_batch=2), infer, lambda: 0.0, at_once)
    assert set(seen) == {1, 2}

    async def fails(batch: Array) -> None:
        raise ModelError("no such network")

    with pytest.raises(ModelError):
        await quiet_times(card_of("m"), fails, lambda: 0.0, at_once)
