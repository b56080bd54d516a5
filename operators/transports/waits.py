"""Makes the waits of Faust's consumers cheap, which most often need not wait."""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Coroutine, Generator, Iterable
from typing import Any

from mode.services import WaitResults


class CheapWaits:
    """Mixed into a consumer of Faust's, before it: the same waits, without tasks for what need not wait.

    For every message Faust makes four tasks: one that puts it into the stream's queue, which nearly always has room,
    and three for reasons to give up waiting for room. With some more for every poll they were a third of all that an
    event loop had to do for a frame.
    """

    async def wait_first(self, *waits: Any, timeout: Any = None) -> WaitResults:  # noqa: ASYNC109 - Faust's
        """As ``mode.Service.wait_first``; where the first wait is a coroutine that can run to its end, it just does."""
        first, *others = waits
        if not inspect.iscoroutine(first):
            return await self._wait_first(*waits, timeout=timeout)
        try:
            pending = first.send(None)
        except StopIteration as end:
            _close(others)
            return WaitResults([first], [end.value], False)
        except BaseException:
            _close(others)
            raise
        return await self._wait_first(_continued(first, pending), *others, timeout=timeout)

    async def _wait_first(self, *waits: Any, **options: Any) -> WaitResults:
        results: WaitResults = await super().wait_first(*waits, **options)  # type: ignore[misc]
        return results

    async def sleep(self, n: Any) -> None:
        """As ``mode.Service.sleep``, in which giving others a turn is a task and a timer."""
        if n == 0:
            await asyncio.sleep(0)
        else:
            await super().sleep(n)  # type: ignore[misc]


def _close(waits: Iterable[Any]) -> None:
    for wait in waits:
        if inspect.iscoroutine(wait):
            wait.close()


async def _continued(coroutine: Coroutine[Any, Any, Any], pending: Any) -> Any:
    """Run the rest of a coroutine that was started by hand and waits for ``pending``."""
    return await _rest(coroutine, pending)


@types.coroutine
def _rest(coroutine: Coroutine[Any, Any, Any], pending: Any) -> Generator[Any, Any, Any]:
    yield pending
    return (yield from coroutine)
