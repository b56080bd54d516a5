"""The ordered window: order, bound, batches, failure, giving up."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.partition.window import OrderedWindow
from tests.turns import turns

Batch = list[tuple[int, str]]


async def after(turns: int, answer: str) -> str:
    """Done after so many turns of the loop."""
    for _ in range(turns):
        await asyncio.sleep(0)
    return answer


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(0, 5))
def test_items_are_finished_in_order(turns: list[int], finish_turns: int) -> None:
    finished: list[int] = []

    async def work(number: int, count: int) -> str:
        return await after(count, f"answer {number}")

    async def finish(batch: Batch) -> None:
        await after(finish_turns, "")
        for number, answer in batch:
            assert answer == f"answer {number}"
            finished.append(number)

    async def main() -> None:
        window = OrderedWindow[int, str](finish)
        for number, count in enumerate(turns):
            window.put(number, partial(work, number, count))
        await window.drain()
        await window.abandon()

    asyncio.run(main())
    assert finished == list(range(len(turns)))


async def test_what_is_done_meanwhile_is_finished_together() -> None:
    batches: list[list[int]] = []
    gate = asyncio.Event()

    async def finish(batch: Batch) -> None:
        batches.append([number for number, _ in batch])
        await gate.wait()

    window = OrderedWindow[int, str](finish)
    for number in range(5):
        window.put(number, partial(after, 0 if number else 1, ""))
    await turns()
    gate.set()
    await window.drain()
    await window.abandon()
    assert [number for batch in batches for number in batch] == [0, 1, 2, 3, 4]
    assert len(batches) <= 2


async def test_an_item_stays_inside_until_it_is_finished() -> None:
    gate, begun = asyncio.Event(), asyncio.Event()

    async def finish(batch: Batch) -> None:
        begun.set()
        await gate.wait()

    window = OrderedWindow[int, str](finish)
    window.put(0, partial(after, 0, ""))
    window.put(1, partial(after, 0, ""))
    await begun.wait()
    assert len(window) == 2
    gate.set()
    await window.drain()
    assert len(window) == 0
    await window.abandon()


async def test_a_failure_ends_the_window() -> None:
    async def finish(batch: Batch) -> None:
        raise OSError("the disk is full")

    window = OrderedWindow[int, str](finish)
    window.put(0, partial(after, 0, ""))
    with pytest.raises(OSError, match="full"):
        await window.drain()
    with pytest.raises(OSError, match="full"):
        window.put(1, partial(after, 0, ""))
    assert isinstance(window.finisher.exception(), OSError)


async def test_abandoning_cancels_the_work_and_finishes_nothing() -> None:
    finished: Batch = []
    cancelled = asyncio.Event()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    async def finish(batch: Batch) -> None:
        finished.extend(batch)

    window = OrderedWindow[int, str](finish)
    window.put(0, work)
    await asyncio.sleep(0)
    await window.abandon()
    assert cancelled.is_set()
    assert not finished
