"""The topics of one installation: names, settings, and how what a broker has differs from them. Pure.

In a query file, what is not given keeps its default::

    publish:
      topics:
        prefix: sluice.
        frames: {partitions: 8, retention_s: 300}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from pydantic import Field

from serving.common.explain import Strict
from serving.errors import BadInput

Kind = Literal[
    "frames", "results", "streams", "plans", "state", "samples", "updates", "load", "placement", "jobs", "events", "dlq"
]
KINDS: tuple[Kind, ...] = get_args(Kind)

PREFIX = r"^[A-Za-z0-9._-]{0,100}$"
MIB = 1 << 20
DAY_S = 86_400.0


class TopicSettings(Strict):
    """How one topic is made."""

    partitions: int = Field(default=4, ge=1, le=10_000)
    """Workers share a topic by partitions, so at most this many workers have something to do."""
    retention_s: float | None = Field(default=7 * DAY_S, gt=0)
    """Messages older than this may be deleted; null keeps them for ever."""
    retention_bytes: int | None = Field(default=None, gt=0)
    """The largest size of one partition before its oldest messages are deleted; null is no bound."""
    compacted: bool = False
    """Keep the last message of every key, instead of deleting by age and size."""
    max_message_bytes: int = Field(default=MIB, ge=1024)
    stamped_by: ClassVar[Literal["CreateTime", "LogAppendTime"]] = "CreateTime"
    """Messages have the time that their sender gives them, or the broker's own."""

    def broker_configs(self) -> dict[str, str]:
        """The topic's configuration in Kafka's words."""
        configs = {"max.message.bytes": str(self.max_message_bytes), "message.timestamp.type": self.stamped_by}
        if self.compacted:
            # Small segments and a low ratio: compaction leaves the active segment alone, which by default lasts a week.
            return configs | {
                "cleanup.policy": "compact",
                "segment.ms": "3600000",
                "min.cleanable.dirty.ratio": "0.1",
            }
        configs["cleanup.policy"] = "delete"
        configs["retention.ms"] = "-1" if self.retention_s is None else str(round(self.retention_s * 1000))
        configs["retention.bytes"] = "-1" if self.retention_bytes is None else str(self.retention_bytes)
        if self.retention_bytes is not None:
            # Whole segments are deleted, never the active one: it must be a small part of what may be kept.
            configs["segment.bytes"] = str(max(self.max_message_bytes, self.retention_bytes // 8, MIB))
        return configs


class FramesTopic(TopicSettings):
    """Images: large and soon stale, so bounded by time and by bytes.

    A machine beside cameras may have any clock: by its own time a broker would refuse its frames, or delete them.
    """

    stamped_by = "LogAppendTime"
    retention_s: float | None = Field(default=3600.0, gt=0)
    retention_bytes: int | None = Field(default=1024 * MIB, gt=0)
    max_message_bytes: int = Field(default=8 * MIB, ge=1024)


class StreamsTopic(TopicSettings):
    """The last state of every stream."""

    stamped_by = "LogAppendTime"
    partitions: int = Field(default=1, ge=1, le=10_000)
    compacted: bool = True


class PlansTopic(StreamsTopic):
    """How every stream is analysed at present."""


class StateTopic(TopicSettings):
    """The knowledge that workers have of every stream, for those that take it over. Read as a whole, so kept small."""

    stamped_by = "LogAppendTime"
    compacted: bool = True
    retention_s: float | None = Field(default=7 * DAY_S, gt=0)
    """A stream that was silent for this long begins anew; null keeps its state for ever."""

    def broker_configs(self) -> dict[str, str]:
        """Compacted early, and cleared of streams that are gone."""
        configs = super().broker_configs() | {"segment.bytes": str(max(self.max_message_bytes, 8 * MIB))}
        if not self.compacted or self.retention_s is None:
            return configs
        return configs | {"cleanup.policy": "compact,delete", "retention.ms": str(round(self.retention_s * 1000))}


class SamplesTopic(TopicSettings):
    """Training data of the adaptation worker: an hour of it, and never more than a few hundred megabytes."""

    stamped_by = "LogAppendTime"
    partitions: int = Field(default=1, ge=1, le=10_000)
    retention_s: float | None = Field(default=2 * 3600.0, gt=0)
    retention_bytes: int | None = Field(default=256 * MIB, gt=0)
    max_message_bytes: int = Field(default=2 * MIB, ge=1024)


class UpdatesTopic(StateTopic):
    """Artefacts of the adaptation worker: the last version of everything, a week long."""

    partitions: int = Field(default=1, ge=1, le=10_000)
    max_message_bytes: int = Field(default=2 * MIB, ge=1024)


class LoadTopic(TopicSettings):
    """How busy every process is: soon stale. A scheduler that starts reads the last ten minutes."""

    stamped_by = "LogAppendTime"
    partitions: int = Field(default=1, ge=1, le=10_000)
    retention_s: float | None = Field(default=900.0, gt=0)
    retention_bytes: int | None = Field(default=64 * MIB, gt=0)


class PlacementTopic(StreamsTopic):
    """The sessions of every backend: the last plan of a scheduler."""

    partitions: int = Field(default=1, ge=1, le=1)
    """One of the schedulers has it, and that one plans."""
    max_message_bytes: int = Field(default=8 * MIB, ge=1024)


class JobsTopic(TopicSettings):
    """Chunks of offline jobs; those of a recording are on one partition."""

    stamped_by = "LogAppendTime"
    partitions: int = Field(default=8, ge=1, le=10_000)
    retention_s: float | None = Field(default=30 * DAY_S, gt=0)


class DeadLettersTopic(TopicSettings):
    """Messages that could not be processed, with their bytes."""

    partitions: int = Field(default=1, ge=1, le=10_000)
    max_message_bytes: int = Field(default=8 * MIB, ge=1024)


class TopicsConfig(Strict):
    """All topics of one installation."""

    prefix: str = Field(default="sluice.", pattern=PREFIX)
    """Begins the name of every topic."""
    replication: int | None = Field(default=None, ge=1)
    """Copies of every partition; null leaves it to the broker's default."""
    frames: FramesTopic = FramesTopic.model_construct()
    """Images on their way to the workers."""
    results: TopicSettings = TopicSettings.model_construct()
    """One message per sampled frame."""
    streams: StreamsTopic = StreamsTopic.model_construct()
    """The state of every stream."""
    plans: PlansTopic = PlansTopic.model_construct()
    """Who answers for every stream, and what audits have found."""
    state: StateTopic = StateTopic.model_construct()
    """The workers' knowledge of every stream."""
    samples: SamplesTopic = SamplesTopic.model_construct()
    """The workers' samples, for the adaptation worker."""
    updates: UpdatesTopic = UpdatesTopic.model_construct()
    """The adaptation worker's artefacts, for workers."""
    load: LoadTopic = LoadTopic.model_construct()
    """How busy workers and backends are."""
    placement: PlacementTopic = PlacementTopic.model_construct()
    """The sessions that every backend serves."""
    jobs: JobsTopic = JobsTopic.model_construct()
    """Recordings that wait to be analysed."""
    events: TopicSettings = TopicSettings.model_construct()
    """The life cycle of tracks."""
    dlq: DeadLettersTopic = DeadLettersTopic.model_construct()
    """Messages that could not be processed."""

    def name(self, kind: Kind) -> str:
        """The full name of a topic, such as ``sluice.frames.v1``."""
        return f"{self.prefix}{kind}.v1"

    def with_prefix(self, prefix: str | None) -> TopicsConfig:
        """The same under another prefix; None changes nothing. Raises ``BadInput`` where Kafka knows no such name."""
        if prefix is None:
            return self
        if not re.fullmatch(PREFIX, prefix):
            raise BadInput(f"--prefix {prefix!r}: at most 100 letters, digits, dots, underscores and hyphens")
        return self.model_copy(update={"prefix": prefix})

    def by_name(self) -> dict[str, TopicSettings]:
        return {self.name(kind): getattr(self, kind) for kind in KINDS}


@dataclass(frozen=True)
class Found:
    """A topic as the broker has it."""

    partitions: int
    replication: int
    configs: Mapping[str, str]
    """Kafka's names and values; values of other topics' concern may be among them."""


@dataclass(frozen=True)
class SettingDifference:
    """One setting of an existing topic that is not as wanted."""

    key: str
    """``partitions`` or a name of Kafka's configuration."""
    found: str
    wanted: str

    def __str__(self) -> str:
        return f"{self.key} is {self.found}, wanted {self.wanted}"


def differences(wanted: TopicSettings, found: Found) -> list[SettingDifference]:
    """The changes by which ``found`` would be as ``wanted``."""
    unlike = [
        SettingDifference(key, found.configs.get(key, "unknown"), value)
        for key, value in wanted.broker_configs().items()
        if found.configs.get(key) != value
    ]
    if found.partitions != wanted.partitions:
        unlike.insert(0, SettingDifference("partitions", str(found.partitions), str(wanted.partitions)))
    return unlike


def too_small_messages(name: str, unlike: Iterable[SettingDifference]) -> str | None:
    """One line where an existing topic refuses messages of the wanted size, with the remedy."""
    for item in unlike:
        if item.key == "max.message.bytes" and int(item.found) < int(item.wanted):
            return (
                f"topic {name} accepts messages of at most {item.found} bytes, wanted {item.wanted}: larger ones will "
                "be refused; raise its max.message.bytes with `sluice topics create --update`"
            )
    return None
