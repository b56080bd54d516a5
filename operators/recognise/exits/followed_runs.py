"""Runs of the oracle for looks whose answers are out: they are followed to their end, and then compared."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine
from typing import Any

log = logging.getLogger(__name__)

MOST_RUNS = 64
"""Runs that have not ended though their answers are out; with so many, no answer goes out before its own run's end."""


class FollowedRuns:
    """Those of one node."""

    def __init__(self, failure: str) -> None:
        """``failure``: what is logged where one fails, in a few words."""
        self._runs: dict[asyncio.Task[Any], str] = {}
        """With the streams that they are of."""
        self._failure, self._complained = failure, False

    @property
    def has_room(self) -> bool:
        return len(self._runs) < MOST_RUNS

    def follow(self, stream: str, run: Coroutine[Any, Any, Any] | asyncio.Task[Any]) -> None:
        """Let a run end by itself."""
        task = run if isinstance(run, asyncio.Task) else asyncio.create_task(run)
        self._runs[task] = stream
        task.add_done_callback(self._over)

    def forget(self, stream: str) -> None:
        """Give up the runs of a stream: they are not compared."""
        self._cancel([run for run, of in self._runs.items() if of == stream])

    async def settled(self) -> None:
        """Return when no run is under way."""
        if self._runs:
            await asyncio.wait(list(self._runs))

    async def close(self) -> None:
        """Give up all runs."""
        self._cancel(self._runs)
        await self.settled()

    def _cancel(self, runs: Collection[asyncio.Task[Any]]) -> None:
        for run in runs:
            run.cancel()

    def _over(self, run: asyncio.Task[Any]) -> None:
        """A failure costs the comparison only: the answers are out. The first is logged; the next ones are alike."""
        self._runs.pop(run, None)
        error = None if run.cancelled() else run.exception()
        if error is not None and not self._complained:
            self._complained = True
            log.warning("%s: %s", self._failure, error)
