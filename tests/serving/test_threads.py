"""Work beside the loop: answers, failures, giving up, ends of loops."""

from __future__ import annotations

import asyncio
import threading

import pytest

from serving.threads import beside


async def test_work_is_done_in_another_thread() -> None:
    assert await beside(threading.get_ident) != threading.get_ident()


async def test_what_the_work_raises_is_raised() -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await beside(fail)
    assert await beside(lambda: 1) == 1


async def test_the_loop_goes_on_meanwhile() -> None:
    gate = threading.Event()
    answer = beside(lambda: gate.wait(10))
    await asyncio.sleep(0)
    assert not answer.done()
    gate.set()
    assert await answer


async def test_several_works_go_on_at_once() -> None:
    together = threading.Barrier(2, timeout=10)
    await asyncio.gather(beside(together.wait), beside(together.wait))


async def test_an_answer_that_nobody_awaits_any_more_disturbs_nothing() -> None:
    gate = threading.Event()
    answer = beside(lambda: gate.wait(10))
    answer.cancel()
    gate.set()
    assert await beside(lambda: 2) == 2
    with pytest.raises(asyncio.CancelledError):
        await answer


def test_threads_outlive_the_loop_they_worked_for() -> None:
    gate, seen = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait(10)
        seen.set()

    async def begin() -> None:
        beside(work)

    asyncio.run(begin())
    gate.set()
    assert seen.wait(10)

    async def again() -> int:
        return await beside(lambda: 3)

    assert asyncio.run(again()) == 3
