"""All kinds of messages on the wire, and the only way on and off it.

Messages are JSON, spelled like DL Streamer's; within a major version fields are only added. ``from_json`` refuses
another ``schema``, and every field that is outside of its bounds (``operators/wire/bounds.py``).
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from operators.wire.adaptation import (
    SAMPLES_HEADER_KEY,
    SAMPLES_SCHEMA,
    UPDATE_HEADER_KEY,
    UPDATE_SCHEMA,
    WISH_SCHEMA,
    ClassCount,
    SamplesHeader,
    UpdateHeader,
    Wish,
)
from operators.wire.events import (
    COUNT_SCHEMA,
    DEAD_LETTER_SCHEMA,
    EVENT_SCHEMA,
    NOTIFICATION_SCHEMA,
    STREAM_SCHEMA,
    Counts,
    DeadLetter,
    Direction,
    Event,
    LineCounts,
    Notification,
    Snapshot,
    StreamState,
    StreamStatus,
    ZoneCause,
)
from operators.wire.fleet import (
    LOAD_SCHEMA,
    PLACEMENT_SCHEMA,
    AskedSession,
    BackendPlacement,
    BatchTime,
    FleetPlacement,
    LoadState,
    NetworkPrefix,
    PlacedSession,
    ProcessLoad,
    ShedSession,
    TimedModel,
    WantedBackends,
)
from operators.wire.frame_message import FRAME_HEADER_KEY, FRAME_SCHEMA, FrameHeader, FrameId, FrameInfo
from operators.wire.jobs import JOB_SCHEMA, JobOrder, RecordingChunk
from operators.wire.result import (
    RESULT_SCHEMA,
    Attribute,
    AuditedKind,
    BoundingBox,
    Detection,
    Fallback,
    Model,
    NodeDecision,
    Object,
    Outcome,
    Plan,
    Provenance,
    Result,
    ShortcutKind,
)
from operators.wire.stream_plan import (
    PLAN_SCHEMA,
    Agreement,
    DetailPlan,
    Interval,
    NamesLost,
    NodePlan,
    Phase,
    ProcessorSeconds,
    Specialization,
    SpecializationPhase,
    StreamPlan,
    SwitchOff,
    VariantSwitch,
)
from serving.common.untrusted import decode

Message = (
    Result
    | StreamStatus
    | StreamPlan
    | Event
    | Counts
    | Notification
    | DeadLetter
    | FrameHeader
    | SamplesHeader
    | Wish
    | UpdateHeader
    | ProcessLoad
    | FleetPlacement
    | JobOrder
)
M = TypeVar("M", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()


def to_json(message: msgspec.Struct) -> bytes:
    return _encoder.encode(message)


def from_json(data: bytes | bytearray | memoryview, kind: type[M]) -> M:
    """Decode a message; raises ``Malformed`` where it is not of this kind and version, or outside of its bounds."""
    return decode(data, kind)
