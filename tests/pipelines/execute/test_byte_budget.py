"""Bytes that tasks share: never more out than there are, nobody waits for ever, nobody is passed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.execute.frame_room import ByteBudget

TOTAL = 100


async def user(budget: ByteBudget, size: int, turns: int, out: list[int], served: list[int], number: int) -> None:
    await budget.take(size)
    try:
        out.append(size)
        served.append(number)
        assert sum(out) <= TOTAL
        for _ in range(turns):
            await asyncio.sleep(0)
    finally:
        out.remove(size)
        budget.give(size)


@given(
    st.lists(
        st.tuples(st.integers(0, TOTAL), st.integers(0, 5), st.none() | st.integers(0, 12)), min_size=1, max_size=30
    )
)
def test_whoever_comes_goes_and_whatever_is_cancelled_nothing_is_lost(
    users: Sequence[tuple[int, int, int | None]],
) -> None:
    async def play() -> None:
        budget, out, served = ByteBudget(TOTAL), list[int](), list[int]()
        tasks = [
            asyncio.create_task(user(budget, size, turns, out, served, number))
            for number, (size, turns, _) in enumerate(users)
        ]
        for step in range(13):
            for task, (_, _, cancelled_at) in zip(tasks, users, strict=True):
                if cancelled_at == step:
                    task.cancel()
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError | None) for each in outcomes)
        assert served == sorted(served)
        assert budget.left_bytes == TOTAL

    asyncio.run(play())


async def test_a_large_request_is_not_passed_by_small_ones() -> None:
    budget = ByteBudget(TOTAL)
    await budget.take(60)
    large = asyncio.create_task(budget.take(TOTAL))
    small = asyncio.create_task(budget.take(1))
    await asyncio.sleep(0)
    assert not small.done()
    budget.give(60)
    await large
    assert not small.done()
    budget.give(TOTAL)
    await small


async def test_what_will_never_fit_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="101 bytes are more than the whole budget of 100"):
        await ByteBudget(TOTAL).take(TOTAL + 1)
