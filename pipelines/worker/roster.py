"""The queries of a worker over all lives of its app; one may be added, changed or withdrawn while the others run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

from pipelines.kafka.rights import TopicRights, needs
from pipelines.worker.duties import Duties
from pipelines.worker.query_lives import QueryLives


class Roster:
    """The work to be done, whether or not the app lives at the moment."""

    def __init__(self, duties: Iterable[Duties]) -> None:
        self._duties = {each.query: each for each in duties}
        self._life: QueryLives | None = None
        self._changing = asyncio.Lock()
        self._change: asyncio.Task[None] | None = None

    @property
    def duties(self) -> list[Duties]:
        return list(self._duties.values())

    def needs(self, frames: str, group: str) -> TopicRights:
        """The rights that the worker needs at its broker."""
        results = {each.topics.results for each in self.duties}
        written = {topic for each in self.duties for topic in each.written}
        return needs(read=[frames, *sorted(results)], write=sorted(written), group=group)

    @asynccontextmanager
    async def living(self, life: QueryLives) -> AsyncIterator[None]:
        """Give up what is being changed where a life ends, with which the frames that it waits for end too."""
        try:
            yield
        finally:
            self._life = None
            if self._change is not None:
                self._change.cancel()
            await life.close()

    @asynccontextmanager
    async def attending(self, life: QueryLives) -> AsyncIterator[None]:
        """Pass changes on to a life that has begun, while the block runs."""
        async with self._changing:
            await life.begin(self.duties)
            self._life = life
        try:
            yield
        finally:
            await life.close()

    async def put(self, duties: Duties) -> None:
        """Add a query, or change it; returns once what it was before has finished."""
        async with self._changing:
            self._duties[duties.query] = duties
            if self._life is not None:
                await self._made(self._life.put(duties))

    async def withdraw(self, query: str) -> None:
        """Work for a query no more; returns once it has finished."""
        async with self._changing:
            del self._duties[query]
            if self._life is not None:
                await self._made(self._life.withdraw(query))

    async def _made(self, change: Coroutine[Any, Any, None]) -> None:
        """Make a change; where the life ends before it is made, the next one begins with it."""
        made = self._change = asyncio.create_task(change)
        try:
            await asyncio.wait([made])
        finally:
            self._change = None
        if not made.cancelled():
            made.result()
