"""The queries of a worker: what each does for the frames that it wants. They may change while frames come."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from pipelines.partition.duties import Duties
from pipelines.partition.resume import KafkaResume
from pipelines.partition.sampling import FrameSampling


class StateStore:
    """Keeps the snapshots of a worker's streams; this one keeps nothing, for queries that learn nothing."""

    def reset(self) -> None:
        """Note that partitions moved: other workers may have learnt more meanwhile."""

    async def read(self) -> None:
        """Read all snapshots, unless that was done since ``reset``."""

    def restore(self, stream: str) -> None:
        """Restore the state of a stream whose first frame is about to be analysed."""

    async def save(self) -> None:
        """Save the latest state of all streams, so that other workers can go on; takes seconds at the most."""

    def forget(self, stream: str) -> None:
        """Save no more of a stream that another worker has now."""

    def saving(self) -> AbstractAsyncContextManager[None]:
        """Save what is new now and then while the block runs."""
        return nullcontext()


@dataclass(eq=False)
class QueryWork:
    """A query in one life of the worker's app."""

    duties: Duties
    resume: KafkaResume
    state_store: StateStore = field(default_factory=StateStore)
    sampling: FrameSampling = field(default_factory=FrameSampling)
    """Leaves out frames that it does not ask for."""
    after: QueryWork | None = None
    """The same query as it was before: its results come first."""
    met: set[str] = field(default_factory=set)
    """Streams whose state it has gone on with."""
    told: set[str] = field(default_factory=set)
    """Streams whose past its events know."""

    def forget(self, stream: str) -> None:
        self.met.discard(stream)
        self.told.discard(stream)
        self.duties.analyser.forget(stream)
        self.duties.derive.forget(stream)
        self.state_store.forget(stream)
        self.sampling.forget(stream)


class Queries:
    """Those that frames are analysed for from now on."""

    def __init__(self, works: Collection[QueryWork] = ()) -> None:
        self._works = list(works)

    def __iter__(self) -> Iterator[QueryWork]:
        return iter(self._works)

    def put(self, work: QueryWork) -> None:
        """Another query, or a changed one in place of that which it comes ``after``."""
        if work.after in self._works:
            self._works[self._works.index(work.after)] = work
        else:
            self._works.append(work)

    def remove(self, work: QueryWork) -> None:
        self._works.remove(work)

    def of(self, stream: str) -> list[QueryWork]:
        """Those that want a stream: those that list it, those that list none, and all where no query lists it."""
        if len(self._works) == 1:
            return self._works[:]
        listed = any(stream in each.duties.streams for each in self._works)
        wanted = [(each, each.duties.streams) for each in self._works]
        return [each for each, streams in wanted if not listed or not streams or stream in streams]

    def forget(self, stream: str) -> None:
        for work in self._works:
            work.forget(stream)

    def busy(self, stream: str) -> bool:
        return any(work.duties.analyser.busy(stream) for work in self._works)

    def reset(self) -> None:
        for work in self._works:
            work.resume.reset()
            work.state_store.reset()
            work.sampling.begin_anew()

    async def cover(self, since_s: float) -> None:
        """Know what was answered and learnt before the frames from this time on."""
        for work in self._works[:]:
            await work.resume.cover(since_s - work.sampling.reach_s)
            await work.state_store.read()

    async def settled(self, within_s: float) -> None:
        await asyncio.gather(*(work.duties.analyser.settled(within_s) for work in self._works))

    async def save(self) -> None:
        await asyncio.gather(*(work.state_store.save() for work in self._works))
