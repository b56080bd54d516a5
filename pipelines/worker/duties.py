"""A worker's duties for a query: its steps for every frame, and its messages beside results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from operators.wire.schema import Counts, Event, Result
from pipelines.partition.answer import Analyser
from pipelines.partition.dispatch import Derive, TopicNames
from pipelines.partition.sampling import Thinning
from pipelines.partition.stream_state import StateConfig
from pipelines.worker.plan_publisher import PlanPublisher


class NoEvents:
    """Derives nothing."""

    def __call__(self, result: Result) -> list[Event | Counts]:
        return []

    def forget(self, stream: str) -> None:
        """Do nothing: no state is kept."""


@dataclass(frozen=True)
class Duties:
    """Those for one query."""

    query: str
    """Its name, which is part of its results."""
    topics: TopicNames
    analyser: Analyser
    derive: Derive = field(default_factory=NoEvents)
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
