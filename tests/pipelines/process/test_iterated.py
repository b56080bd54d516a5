"""An asynchronous generator as an ordinary iterator: one step at a time, and closed with it."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from pipelines.process.iterated import iterated


class Counting:
    """Counts in an event loop; notes what it was asked for, and how it ended."""

    def __init__(self, until: int, error: Exception | None = None) -> None:
        self.asked, self.ended, self._until, self._error = 0, threading.Event(), until, error

    async def items(self) -> AsyncGenerator[int, None]:
        try:
            for item in range(1, self._until + 1):
                self.asked = item
                await asyncio.sleep(0)
                yield item
            if self._error is not None:
                raise self._error
        finally:
            await asyncio.sleep(0)
            self.ended.set()


def test_items_come_in_order_and_none_is_made_before_it_is_asked_for() -> None:
    counting = Counting(5)
    assert [(item, counting.asked) for item in iterated(counting.items())] == [(n, n) for n in range(1, 6)]
    assert counting.ended.is_set()


def test_nothing_begins_before_the_first_is_asked_for() -> None:
    counting = Counting(5)
    iterated(counting.items())
    assert counting.asked == 0


def test_the_event_loop_of_the_callers_thread_stays_its_own() -> None:
    own = asyncio.new_event_loop()
    asyncio.set_event_loop(own)
    try:
        assert list(iterated(Counting(2).items())) == [1, 2]
        assert asyncio.get_event_loop() is own
    finally:
        asyncio.set_event_loop(None)
        own.close()


def test_an_error_is_raised_where_items_are_taken() -> None:
    items = iterated(Counting(1, ValueError("enough")).items())
    assert next(items) == 1
    with pytest.raises(ValueError, match="enough"):
        next(items)
    assert list(items) == []


def test_closing_waits_for_the_end() -> None:
    counting = Counting(5)
    items = iterated(counting.items())
    next(items)
    items.close()  # type: ignore[attr-defined]
    assert (counting.asked, counting.ended.is_set()) == (1, True)


@pytest.fixture
def _nobody_collects() -> Iterator[None]:
    """Garbage is collected where a test says so alone."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_nobody_collects")
def test_an_iterator_in_a_circle_that_its_own_thread_collects_ends_as_well() -> None:
    lost, ended = threading.Event(), threading.Event()

    async def collect() -> None:
        await asyncio.to_thread(lost.wait)
        gc.collect()

    async def items() -> AsyncGenerator[object, None]:
        collecting = asyncio.create_task(collect())
        try:
            yield collecting
            yield collecting
        finally:
            ended.set()

    circle: list[object] = []
    iterator = iterated(items())
    next(iterator)
    circle += [iterator, circle]
    del iterator, circle
    lost.set()
    assert ended.wait(60)
