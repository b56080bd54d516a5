"""The messages by which processes say how busy they are, and a scheduler says what each backend serves.

Rates are items per second: pictures that a network looks at, not calls. A *session* is a model under one SLO.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from operators.wire import bounds
from operators.wire.bounds import Count, Id, Label, Moment, Seq, Share, Text

LOAD_SCHEMA: Final = "sluice.load/1"
PLACEMENT_SCHEMA: Final = "sluice.placement/1"
MOST_SESSIONS: Final = 256
"""Sessions of a process, networks that are ready there, and profiles that it tells of."""
MOST_BATCHES: Final = 32
"""Batch sizes of a profile."""
MOST_INSTEAD: Final = 16
"""Models that may answer in the place of a session's."""
MOST_PREFIXES: Final = 8
"""Prefixes of a network that a process tells of."""
MOST_BACKENDS: Final = 1000
"""Backends of a fleet."""
MOST_DEVICE_KINDS: Final = 64
MOST_SHED: Final = 1000

Name = Annotated[str, Meta(min_length=1, max_length=bounds.LABEL_CHARS)]
"""The name of a model, a backend or a kind of device."""
MOST_RATE: Final = 1e9
LEAST_MS: Final = 1e-3
Rate = Annotated[float, Meta(ge=0, le=MOST_RATE)]
"""Items per second."""
SpanMs = Annotated[float, Meta(ge=LEAST_MS, le=3.6e6)]
"""A time from a microsecond to an hour, milliseconds."""
Bytes = Count
BatchSize = Annotated[int, Meta(ge=1, le=65_536)]
Priority = Annotated[int, Meta(ge=-1000, le=1000)]
"""Where not everything can be served, the lowest goes first."""
LoadState = Literal["inactive", "active", "overloaded", "interfered"]


class AskedSession(msgspec.Struct, kw_only=True, frozen=True):
    """One session, as a process saw it since its last message."""

    model: Name
    slo_ms: SpanMs
    """The time between asking and the answer that the SLO leaves for it."""
    asked: Rate
    served: Rate
    late: Share = 0.0
    """Share of the answers that came after their time, or never."""
    mean_batch: Annotated[float, Meta(ge=0, le=65_536)] = 0.0
    """Items of a batch; 0 where none ran."""
    latency_ratio: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """Times of batches over those of the profile; None where nobody knows."""
    state: LoadState = "active"
    priority: Priority = 0
    instead: Annotated[list[Name], Meta(max_length=MOST_INSTEAD)] = []
    """Models that may answer in its place."""


class BatchTime(msgspec.Struct, kw_only=True, frozen=True):
    """The time of a batch."""

    batch: BatchSize
    ms: SpanMs


class NetworkPrefix(msgspec.Struct, kw_only=True, frozen=True):
    """The first layers of a network."""

    digest: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    """Says what they compute of a picture, and how: where it is that of another network, both run them as one."""
    share: Share
    """Their part of the network's work."""


class TimedModel(msgspec.Struct, kw_only=True, frozen=True):
    """A model as it was measured on the device of the process."""

    model: Name
    times: Annotated[list[BatchTime], Meta(min_length=1, max_length=MOST_BATCHES)]
    """By size, which ascends; times do not fall."""
    memory_bytes: Bytes = 0
    load_s: Annotated[float, Meta(ge=0, le=3600)] = 0.0
    """Opening it, and running it once."""
    agreement: Share | None = None
    """Share of its reference's answers that it gives as well; None where nobody knows."""
    prefixes: Annotated[list[NetworkPrefix], Meta(max_length=MOST_PREFIXES)] = []
    """Shortest first; empty where nobody has looked, or others have nothing in common with it."""

    def __post_init__(self) -> None:
        shares = [each.share for each in self.prefixes]
        if shares != sorted(shares) or len({each.digest for each in self.prefixes}) < len(shares):
            raise ValueError(f"the prefixes of {self.model!r} do not ascend")
        for before, after in zip(self.times, self.times[1:], strict=False):
            if after.batch <= before.batch or after.ms < before.ms:
                raise ValueError(f"the times of {self.model!r} do not ascend with its batches")


class ProcessLoad(msgspec.Struct, kw_only=True, frozen=True):
    """How busy a worker or a backend is. Topic ``load.v1``, key = ``id``."""

    schema: Literal["sluice.load/1"] = LOAD_SCHEMA
    id: Id
    """Names the process; another one after a restart."""
    kind: Literal["worker", "backend"]
    at: Moment
    name: Label = ""
    """A name for people, such as that of its pod."""
    url: Text = ""
    """Where a backend is called, without credentials."""
    device: Name = "cpu"
    """The kind of device or machine."""
    memory_bytes: Bytes = 0
    """The memory of the device for networks; 0: nobody knows."""
    memory_free_bytes: Bytes = 0
    busy: Share = 0.0
    """Share of the time since the last message that went to what frames wait for: of the device's, or of all
    processors' where these have worked more."""
    lag: Count = 0
    """Frames that wait for a worker on the broker."""
    epoch: Seq = 0
    """The placement that it obeys; 0: none."""
    leaving: bool = False
    """Its last message, or that of a backend that takes no more work."""
    ready: Annotated[list[Name], Meta(max_length=MOST_SESSIONS)] = []
    """Networks that are loaded and answer at once."""
    sessions: Annotated[list[AskedSession], Meta(max_length=MOST_SESSIONS)] = []
    """Those that a worker asks backends for, and that a backend was asked for."""
    profiles: Annotated[list[TimedModel], Meta(max_length=MOST_SESSIONS)] = []
    """At the start and then seldom; else empty."""

    def __post_init__(self) -> None:
        bounds.check(self.at)


class PlacedSession(msgspec.Struct, kw_only=True, frozen=True):
    """The part of a session that a backend serves."""

    model: Name
    slo_ms: SpanMs
    rate: Rate
    """Its part of the session's rate, by which workers divide their calls."""
    batch: BatchSize = 1
    """By which it was placed; a hint."""
    duty_cycle_ms: SpanMs | None = None
    """The time in which each session of the backend runs one batch; a hint."""
    priority: Priority = 0


class BackendPlacement(msgspec.Struct, kw_only=True, frozen=True):
    """The sessions of one backend. Without sessions it is idle and may end."""

    id: Id
    name: Label = ""
    url: Text = ""
    sessions: Annotated[list[PlacedSession], Meta(max_length=MOST_SESSIONS)] = []
    unload: Annotated[list[Name], Meta(max_length=MOST_SESSIONS)] = []
    """Networks that it drains and gives up."""


class WantedBackends(msgspec.Struct, kw_only=True, frozen=True):
    """How many backends of a kind there should be."""

    device: Name
    wanted: Annotated[int, Meta(ge=0, le=MOST_BACKENDS)]
    running: Annotated[int, Meta(ge=0, le=MOST_BACKENDS)]


class ShedSession(msgspec.Struct, kw_only=True, frozen=True):
    """A part of a session that is served nowhere."""

    model: Name
    slo_ms: SpanMs
    rate: Rate
    priority: Priority = 0
    why: Text


class FleetPlacement(msgspec.Struct, kw_only=True, frozen=True):
    """The sessions of every backend in an epoch. Topic ``placement.v1`` (compacted), one key: the last one holds."""

    schema: Literal["sluice.placement/1"] = PLACEMENT_SCHEMA
    epoch: Annotated[int, Meta(ge=1, le=bounds.LARGEST_SEQ)]
    """Ascends: the time in seconds since 1970, or one more than the last. What comes later with a lower number, or the
    same of another leader, is passed over, and so is what is more than an hour ahead."""
    at: Moment
    leader: Id
    """The scheduler that made it."""
    backends: Annotated[list[BackendPlacement], Meta(max_length=MOST_BACKENDS)] = []
    wanted: Annotated[list[WantedBackends], Meta(max_length=MOST_DEVICE_KINDS)] = []
    workers: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """How many workers there should be; 0: nobody knows."""
    shed: Annotated[list[ShedSession], Meta(max_length=MOST_SHED)] = []

    def __post_init__(self) -> None:
        bounds.check(self.at)
