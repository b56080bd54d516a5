"""A worker's duties for a query: its steps for every frame, and its messages beside results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from operators.publish.track_events import Lifecycles
from operators.wire.schema import NodePlan, StreamPlan, VariantSwitch, to_json
from pipelines.assembly.registry import ShortcutNode, Shortcuts
from pipelines.execute.executor import Executor
from pipelines.partition.dispatch import TopicNames
from pipelines.partition.publisher import Outgoing, Publisher
from pipelines.partition.sampling import Thinning
from pipelines.process.tasks import meanwhile
from serving.errors import Unavailable

log = logging.getLogger(__name__)

EVERY_S = 5.0


class PlanPublisher:
    """Publishes the plans that differ from those that were published last, and no others."""

    def __init__(self, shortcuts: Shortcuts, topic: str, every_s: float = EVERY_S) -> None:
        self.topic = topic
        self._shortcuts, self._every_s = shortcuts, every_s
        self._news = shortcuts.news.listen()
        self._published: dict[str, tuple[Sequence[NodePlan], Sequence[VariantSwitch]]] = {}

    @property
    def needed(self) -> bool:
        """Whether there will ever be something to publish."""
        return bool(self._shortcuts.nodes)

    def publishing(self, publisher: Publisher) -> AbstractAsyncContextManager[None]:
        """Publish while the block runs; stops, with a log line, if the topic cannot be written to."""
        return meanwhile(self._run(publisher))

    async def _run(self, publisher: Publisher) -> None:
        try:
            while self.needed:
                await self._publish(publisher)
                await self._moment()
        except Unavailable as error:
            log.warning("plans are not published: %s", error)

    async def _publish(self, publisher: Publisher) -> None:
        plans = self._shortcuts.plans(datetime.now(UTC))
        changed = [plan for plan in plans if self._published.get(plan.stream) != _said(plan)]
        await publisher.publish([self._outgoing(plan) for plan in changed])
        self._published = {plan.stream: _said(plan) for plan in plans}

    async def _moment(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._every_s):
                await self._news.wait()
        self._news.clear()

    def _outgoing(self, plan: StreamPlan) -> Outgoing:
        return Outgoing(self.topic, f"{plan.query}/{plan.stream}".encode(), to_json(plan), plan.at.timestamp())


def _said(plan: StreamPlan) -> tuple[Sequence[NodePlan], Sequence[VariantSwitch]]:
    return plan.nodes, plan.switches


@dataclass(frozen=True)
class StateConfig:
    """Which nodes have state, and the topic that keeps it."""

    topic: str
    nodes: Mapping[str, ShortcutNode]
    """The nodes with state, by name."""
    changed: asyncio.Event
    """Is set when some phase has changed."""


@dataclass(frozen=True)
class Duties:
    query: str
    """Its name, which is part of its results."""
    topics: TopicNames
    analyser: Executor
    derive: Lifecycles
    """Makes events of results."""
    plans: PlanPublisher | None = None
    """Publishes how streams stand with their shortcuts."""
    state: StateConfig | None = None
    """The knowledge of streams that must not be lost."""
    thinned: Mapping[str, Thinning] = field(default_factory=dict)
    """The streams of which it asks for fewer frames than may come."""
    streams: Collection[str] = ()
    """The streams that it lists."""

    @property
    def written(self) -> list[str]:
        """The topics that it writes, and cannot do without."""
        plan = [self.plans.topic] if self.plans is not None and self.plans.needed else []
        return [self.topics.results, self.topics.events, self.topics.dlq, *plan]
