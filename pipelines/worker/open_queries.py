"""The queries of a worker, by their files: opened from a file, changed as it changes, withdrawn when it goes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cache_adapt.adaptation.elsewhere import Elsewhere
from operators.observer import Observers
from operators.publish.track_events import Lifecycles
from operators.wire.schema import StreamPlan
from pipelines.assembly.parts import lifecycles
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.record.layout import Manifest, manifest_of
from pipelines.observe.record.recorder import Keeper, Recorder
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.duties import Duties, PlanPublisher, StateConfig
from pipelines.partition.sampling import thinned
from pipelines.query.dag import CompiledQuery
from pipelines.query.query_file import Query
from pipelines.schedule.worker_side import alternatives
from pipelines.settings import BrokerSettings
from pipelines.worker.common import Common, OpenQuery
from pipelines.worker.query_lives import Roster
from pipelines.worker.worker import WorkerConfig
from serving.common.clock import SYSTEM
from serving.errors import BadInput


@dataclass(frozen=True)
class _Held:
    """A query that runs, and the file that it comes from."""

    path: Path
    open: OpenQuery
    duties: Duties
    recorder: Recorder | None = None
    """Goes on where the query changes."""
    manifest: Manifest | None = None

    def goes_on(self) -> None:
        """Have the query recorded as it is now."""
        if self.recorder is not None and self.manifest is not None:
            self.recorder.goes_on(self.manifest)


class OpenQueries:
    """Opens one at a time; the others run on meanwhile."""

    def __init__(
        self,
        config: WorkerConfig,
        common: Common,
        instead: dict[str, list[str]],
        adapted_at: BrokerSettings | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        """``instead`` is told, by remote model, those that may answer in its place.

        ``adapted_at``: the broker of the adaptation worker that trains for them; None: they train by themselves.
        ``keeper``: has the frames of all of them recorded; None: nobody records.
        """
        self._config, self._common, self._instead, self._adapted_at = config, common, instead, adapted_at
        self._keeper = keeper
        self.roster = Roster([])
        self._held: dict[str, _Held] = {}
        """By the query's name."""
        self._files: dict[Path, str] = {}

    def plans(self, at: datetime) -> list[StreamPlan]:
        """How streams stand with the shortcuts of all queries."""
        return [plan for each in self._held.values() for plan in each.open.parts.shortcuts.plans(at)]

    @property
    def files(self) -> Mapping[Path, str]:
        """The files of the queries that run, with the queries' names."""
        return dict(self._files)

    @property
    def renamed(self) -> list[str]:
        """Queries whose files hold others now, and that no other file holds."""
        return [name for name in self._held if name not in self._files.values()]

    async def take(self, path: Path, wanted: CompiledQuery, said: Mapping[Path, str] = {}) -> None:
        """Run a query from the next frame on; the file may be a new name of the one that it came from.

        ``said``: the names of the queries in files as they are now. Raises BadInput, or another SluiceError, where it
        cannot run; what ran before then runs on.
        """
        name = wanted.query.name
        before = self._held.get(name)
        if before and before.path != path and said.get(before.path, name) == name and before.path.exists():
            raise BadInput(f"{path}: name: {name!r} is the query in {before.path} too: give each a name of its own")
        held = await self._opened(path, wanted, before)
        left: _Held | None = held
        try:
            await self.roster.put(held.duties)
        finally:
            if held.duties in self.roster.duties:
                self._held[name], left = held, before
                self._files = {file: each for file, each in self._files.items() if each != name} | {path: name}
                self._tell_alternatives()
                held.goes_on()
            if left is not None:
                await self._common.close(left.open)

    async def withdraw(self, name: str) -> None:
        """Run a query no more, once the frames that it has in work have their results."""
        held = self._held.pop(name)
        self._files = {file: each for file, each in self._files.items() if each != name}
        self._tell_alternatives()
        try:
            await self.roster.withdraw(name)
        finally:
            await self._common.close(held.open)
            if held.recorder is not None:
                held.recorder.close()

    def _tell_alternatives(self) -> None:
        nodes = [node for each in self._held.values() for node in each.open.wanted.query.nodes]
        self._instead.clear()
        self._instead.update(alternatives(nodes))

    async def _opened(self, path: Path, wanted: CompiledQuery, before: _Held | None) -> _Held:
        topics = self._topics_of(path, wanted)
        recorder = manifest = None
        if self._keeper is not None:
            manifest = manifest_of(wanted.query.name, path, wanted.versions, SYSTEM.now())
            recorder = (before and before.recorder) or self._keeper.of(manifest)
        found = await self._common.open(wanted, self._linked(wanted, topics), recorder)
        shortcuts = found.parts.shortcuts
        state = StateConfig(topics.name("state"), shortcuts.nodes, shortcuts.news.listen())
        duties = Duties(
            query=wanted.query.name,
            topics=names(topics),
            analyser=found.parts.executor,
            derive=self._derive(wanted, before, recorder),
            plans=PlanPublisher(shortcuts, topics.name("plans")),
            state=state,
            thinned=thinned(wanted.query),
            streams=frozenset(stream.id for stream in wanted.query.streams),
        )
        return _Held(path, found, duties, recorder, manifest)

    def _topics_of(self, path: Path, wanted: CompiledQuery) -> TopicsConfig:
        topics = wanted.query.publish.topics.with_prefix(self._config.topics_prefix)
        if (frames := topics.name("frames")) != self._config.frames:
            raise BadInput(
                f"{path}: publish.topics.prefix: it reads {frames}, and this worker reads {self._config.frames}: give "
                "its queries one prefix, or start another worker"
            )
        return topics

    def _linked(self, wanted: CompiledQuery, topics: TopicsConfig) -> AbstractAsyncContextManager[Elsewhere] | None:
        """The link to the adaptation worker, if there is one and the query has something to learn."""
        if self._adapted_at is None or not wanted.query.learns:
            return None
        from pipelines.worker.adapt.link import linked

        return linked(wanted.query.name, self._adapted_at, topics, self._config.give_up_s)

    def _derive(self, wanted: CompiledQuery, before: _Held | None, recorder: Recorder | None) -> Lifecycles:
        """Makes events of results; where a change leaves them as they were, they go on."""
        if before is not None and _of_events(before.open.wanted.query) == _of_events(wanted.query):
            return before.duties.derive
        watching = [self._config.observers, *([recorder] if recorder else [])]
        return lifecycles(wanted.query, Observers(watching))


def names(topics: TopicsConfig) -> TopicNames:
    """The topics that a worker reads and writes."""
    return TopicNames(*(topics.name(kind) for kind in ("frames", "results", "events", "dlq")))


def _of_events(query: Query) -> tuple[object, ...]:
    return query.publish.events, query.zones, query.lines
