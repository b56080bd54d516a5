"""Runs of the oracle for looks whose answers are out: they are followed to their end, and then compared."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)

MOST_RUNS = 64
"""Runs that have not ended though their answers are out; with so many, no answer goes out before its own run's end."""


class FollowedRuns:
    """Those of one node."""

    def __init__(self, failure: str) -> None:
        """``failure``: what is logged where one fails, in a few words."""
        self._runs: set[asyncio.Task[Any]] = set()
        self._failure, self._complained = failure, False

    @property
    def has_room(self) -> bool:
        return len(self._runs) < MOST_RUNS

    def follow(self, run: Coroutine[Any, Any, Any] | asyncio.Task[Any]) -> None:
        """Let a run end by itself."""
        task = run if isinstance(run, asyncio.Task) else asyncio.create_task(run)
        self._runs.add(task)
        task.add_done_callback(self._over)

    async def settled(self) -> None:
        """Return when no run is under way."""
        if self._runs:
            await asyncio.wait(self._runs)

    async def close(self) -> None:
        """Give up the runs: they are not compared."""
        for run in self._runs:
            run.cancel()
        await self.settled()

    def _over(self, run: asyncio.Task[Any]) -> None:
        """A failure costs the comparison only: the answers are out. The first is logged; the next ones are alike."""
        self._runs.discard(run)
        error = None if run.cancelled() else run.exception()
        if error is not None and not self._complained:
            self._complained = True
            log.warning("%s: %s", self._failure, error)
