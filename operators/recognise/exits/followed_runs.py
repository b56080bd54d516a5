"""Runs of the oracle for looks whose answers are out: they are followed to their end, and then compared."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine
from typing import Any

log = logging.getLogger(__name__)

MOST_RUNS = 64
"""Runs that have not ended though their answers are out; with so many, no more looks are drawn for audits."""


class FollowedRuns:
    """Those of one node."""

    def __init__(self) -> None:
        self._runs: dict[asyncio.Task[None], str] = {}
        """With the streams that they are of."""
        self._complained = False

    @property
    def has_room(self) -> bool:
        return len(self._runs) < MOST_RUNS

    def follow(self, stream: str, run: Coroutine[Any, Any, None]) -> None:
        """Let a run end by itself."""
        task = asyncio.create_task(run)
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

    def _cancel(self, runs: Collection[asyncio.Task[None]]) -> None:
        for run in runs:
            run.cancel()

    def _over(self, run: asyncio.Task[None]) -> None:
        """A failure costs the comparison only: the answers are out. The first is logged; the next ones are alike."""
        self._runs.pop(run, None)
        error = None if run.cancelled() else run.exception()
        if error is not None and not self._complained:
            self._complained = True
            log.warning("exits are not audited: %s", error)
