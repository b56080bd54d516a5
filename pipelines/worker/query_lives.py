"""The queries of a worker in one life of its app, each with what is published beside its results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import faust
from msgspec.structs import replace

from operators.wire.schema import to_json
from pipelines.kafka.rights import TopicRights, needs
from pipelines.partition.duties import Duties
from pipelines.partition.publisher import Outgoing, Publisher
from pipelines.partition.queries import Queries, QueryWork, StateStore
from pipelines.partition.resume import KafkaResume
from pipelines.partition.sampling import FrameSampling
from pipelines.partition.shared_parts import SharedParts
from pipelines.settings import BrokerSettings
from pipelines.worker.agent import FrameAgent, sender
from pipelines.worker.state_topic import TopicStateStore

BEFORE_S = 60.0
"""How far back a query that is added looks for answers of its own: frames that come later are seldom older."""


class QueryLives:
    """Opens the queries of a life, and closes them again."""

    def __init__(self, broker: BrokerSettings, app: faust.App, duties: Iterable[Duties]) -> None:
        self._broker, self._app = broker, app
        self.publisher = Publisher(sender(app))
        self.duties = {each.query: each for each in duties}
        self._works = {name: self._work(each) for name, each in self.duties.items()}
        self.queries = Queries(self._works.values())
        self._beside: dict[str, AsyncExitStack] = {}

    def agent(self, work: SharedParts, ready: asyncio.Event) -> FrameAgent:
        """Reads the frames for them."""
        self._agent = FrameAgent(self._app, work, ready)
        return self._agent

    async def begin(self, duties: Iterable[Duties]) -> None:
        """Publish beside results from now on; ``duties``: those of now, which may have changed since it was made."""
        wanted = {each.query: each for each in duties}
        for name in self.duties.keys() - wanted.keys():
            await self.withdraw(name)
        for name, each in wanted.items():
            if self.duties.get(name) is each:
                await self._publish_beside(each)
            else:
                await self.put(each)

    async def put(self, duties: Duties) -> None:
        """Work for another query, or for a changed one in place of what it was, from the next frame on.

        Returns when the frames that the former one had in work have their results.
        """
        before = self._works.get(duties.query)
        work = self._work(duties, before)
        now_s = time.time()
        await work.resume.cover(now_s - BEFORE_S - work.sampling.reach_s)
        await work.state_store.read()
        self.duties[duties.query], self._works[duties.query] = duties, work
        self.queries.put(work)
        if before is not None:
            await self._leave(before)
            work.after = None
        await self._publish_beside(duties)

    async def withdraw(self, name: str) -> None:
        """Work no more for a query once the frames that it has in work have their results; its tracks end."""
        work, duties = self._works.pop(name), self.duties.pop(name)
        self.queries.remove(work)
        await self._leave(work)
        ended = [replace(each, query=name) for each in duties.derive.finish()]
        topic, now_s = duties.topics.events, time.time()
        await self.publisher.publish([Outgoing(topic, each.stream.encode(), to_json(each), now_s) for each in ended])

    async def close(self) -> None:
        """Publish nothing more beside results."""
        beside, self._beside = self._beside, {}
        for stack in beside.values():
            await stack.aclose()

    async def _leave(self, work: QueryWork) -> None:
        await self._agent.leave(work)
        await work.state_store.save()
        if (stack := self._beside.pop(work.duties.query, None)) is not None:
            await stack.aclose()

    async def _publish_beside(self, duties: Duties) -> None:
        stack = self._beside[duties.query] = AsyncExitStack()
        if duties.plans is not None:
            await stack.enter_async_context(duties.plans.publishing(self.publisher))
        await stack.enter_async_context(self._works[duties.query].state_store.saving())

    def _work(self, duties: Duties, after: QueryWork | None = None) -> QueryWork:
        name, topics, state = duties.query, duties.topics, duties.state
        flush, recent_s = lambda: self._app.producer.flush(), duties.derive.reach_s
        resume = KafkaResume(self._broker, topics.results, name, flush, recent_s=recent_s)
        store = StateStore() if state is None else TopicStateStore(self._broker, name, state, self.publisher)
        told = set(after.told) if after is not None and after.duties.derive is duties.derive else set[str]()
        return QueryWork(duties, resume, store, FrameSampling(duties.thinned), after, told=told)


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
        """Make a change; where the life ends before it is made, the next one begins with it.

        One that fails is made where it has come so far that frames go by it.
        """
        made = self._change = asyncio.create_task(change)
        try:
            await asyncio.wait([made])
        finally:
            self._change = None
        if self._life is not None:
            self._duties = dict(self._life.duties)
        if not made.cancelled():
            made.result()
