"""Work of a line is done in its order, whatever other lines do; what is not done when time is over is given up."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from functools import partial

from pipelines.observe.forward.in_order import AT_ONCE, InOrder


async def test_each_line_is_done_in_its_order_and_may_grow_meanwhile() -> None:
    lines, rng, done = InOrder(), random.Random(3), list[tuple[int, int]]()

    async def work(line: int, number: int) -> None:
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        done.append((line, number))
        if number < 5:
            lines.put(line, partial(work, line, number + 10))

    for number in range(10):
        for line in range(2 * AT_ONCE):
            lines.put(line, partial(work, line, number))
    await lines.done()
    expected = [*range(10), *range(10, 15)]
    assert all([number for of, number in done if of == line] == expected for line in range(2 * AT_ONCE))


async def test_what_is_under_way_is_ended_and_what_waits_never_begins_when_time_is_over() -> None:
    lines, said = InOrder(), list[str]()

    async def slow() -> None:
        said.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            said.append("ended")

    lines.put("a", slow)
    lines.put("a", slow)
    await asyncio.sleep(0)
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            await lines.done()
    assert said == ["begun", "ended"]
