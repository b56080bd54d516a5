"""Messages on the wire. JSON, spelled like DL Streamer's; within a major version fields are only added.

``to_json``/``from_json`` are the only ways on and off the wire; decoding refuses another ``schema``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, TypeVar

import msgspec

FRAME_SCHEMA: Final = "sluice.frame/1"
RESULT_SCHEMA: Final = "sluice.result/1"
STREAM_SCHEMA: Final = "sluice.stream/1"
PLAN_SCHEMA: Final = "sluice.plan/1"
EVENT_SCHEMA: Final = "sluice.event/1"
DEAD_LETTER_SCHEMA: Final = "sluice.dead-letter/1"

FRAME_HEADER_KEY = "frame"
"""The name of the Kafka header that carries the JSON of a ``FrameHeader`` beside the image bytes."""

Outcome = Literal["analysed", "dropped", "failed"]
Provenance = Literal["oracle", "variant", "specialised", "cached", "reused"]


class FrameHeader(msgspec.Struct, kw_only=True, frozen=True):
    """Describes the image bytes of one sampled frame. Topic ``frames.v1``, key = stream."""

    schema: Literal["sluice.frame/1"] = FRAME_SCHEMA
    stream: str
    run: str
    seq: int
    width: int
    """Pixels of the image in the message."""
    height: int
    media_time_s: float
    """Presentation time within the source, seconds from its first frame."""
    captured_at: datetime
    """When the frame was decoded, UTC."""
    encoding: Literal["jpeg", "bgr24", "none"]
    """``bgr24``: raw rows, blue-green-red, one byte each. ``none``: capture had to drop the image; see ``cause``."""
    decode_ms: float = 0.0
    """Time that capture spent on decoding and converting this frame."""
    cause: str | None = None


class BoundingBox(msgspec.Struct, kw_only=True, frozen=True):
    """Corners relative to the frame, 0…1, origin top left."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float


class Detection(msgspec.Struct, kw_only=True, frozen=True):
    """What the detector said."""

    bounding_box: BoundingBox
    confidence: float
    label: str


class Model(msgspec.Struct, kw_only=True, frozen=True):
    """Which network answered."""

    name: str
    version: str
    tier: str
    variant: str | None = None
    """Engine and precision, where the query named them: ``openvino-bf16``."""


class Attribute(msgspec.Struct, kw_only=True, frozen=True):
    """What a recogniser said of one object, and where the answer came from."""

    name: str
    label: str
    confidence: float
    provenance: Provenance
    model: Model


class Object(msgspec.Struct, kw_only=True, frozen=True):
    """One object in one frame. ``id`` is unique within the frame; ``parent_id`` names another object's ``id``."""

    id: int
    label: str
    confidence: float
    track_id: int | None = None
    parent_id: int | None = None
    detection: Detection
    attributes: list[Attribute] = []


class FrameInfo(msgspec.Struct, kw_only=True, frozen=True):
    """The frame a result speaks of."""

    width: int
    height: int
    media_time_s: float
    captured_at: datetime


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """How the frame was run: its objective, and milliseconds per stage in the order they ran."""

    slo_ms: float
    deadline_met: bool
    latency_ms: float = 0.0
    """From ``captured_at`` until the result was ready."""
    stages_ms: dict[str, float] = {}


class Result(msgspec.Struct, kw_only=True, frozen=True):
    """One message per sampled frame, empty and dropped frames included. Topic ``results.v1``, key = stream.

    Idempotent by (stream, run, seq): a repeated message has the same key and content.
    """

    schema: Literal["sluice.result/1"] = RESULT_SCHEMA
    stream: str
    run: str
    seq: int
    query: str
    frame: FrameInfo
    outcome: Outcome
    cause: str | None = None
    plan: Plan
    objects: list[Object] = []


StreamState = Literal["starting", "running", "stalled", "reconnecting", "ended", "failed"]


class StreamStatus(msgspec.Struct, kw_only=True, frozen=True):
    """A change of a stream's state. Topic ``streams.v1`` (compacted), key = stream."""

    schema: Literal["sluice.stream/1"] = STREAM_SCHEMA
    stream: str
    run: str
    state: StreamState
    reason: str | None = None
    """A code a program can act on: ``auth_failed``, ``refused``, ``timeout``, … ; None while all is well."""
    message: str | None = None
    """The same for people, without credentials."""
    uri: str
    """Redacted."""
    at: datetime
    frames: int = 0
    """Frames sampled so far in this run."""
    restarts: int = 0


Phase = Literal["probation", "trusted", "off"]
ShortcutKind = Literal["variant", "specialised", "reused"]
"""Provenances that are audited, each by itself."""


class Interval(msgspec.Struct, kw_only=True, frozen=True):
    """Bounds, both included."""

    low: float
    high: float


class Agreement(msgspec.Struct, kw_only=True, frozen=True):
    """How often a node's shortcuts say what its oracle says, by the audits of late."""

    wanted: float
    """The query's ``accuracy``."""
    found: float | None
    """Share of the audits; None before the first."""
    audits: int
    disagreements: int
    exact: Interval
    """Clopper–Pearson, 95 %: for one look."""
    sequential: Interval
    """95 %, valid however often one looks; the phase follows it."""


class SwitchOff(msgspec.Struct, kw_only=True, frozen=True):
    """The shortcuts of a node were switched off for a stream."""

    answers: int
    """The node's answers for the stream so far."""
    reason: str


SpecializationPhase = Literal["initialising", "selecting", "training", "specialised"]


class Specialization(msgspec.Struct, kw_only=True, frozen=True):
    """What specialization does for a stream at one node, and has done so far."""

    phase: SpecializationPhase
    """``specialised``: a head answers, and the oracle where it says "other"; in all others the oracle."""
    epoch: int
    template: str | None = None
    """The compact network of the head in use."""
    classes: list[str] = []
    """The dominant classes that it knows."""
    oracle: int
    """Answers of the oracle, asked alone."""
    head: int
    fallback: int
    """Answers of the oracle after a head had said "other"."""
    reused: int
    """Earlier answers of the same track."""
    audits: int
    special_rate: float
    """Share of the answers given by a cascade, reused ones left out, 0…1."""
    cascade_rate: float | None
    """Of these, the share of ``fallback``."""
    transitions: int
    """How often a phase became ``specialised``."""
    mean_dominant: float | None
    """Classes of a head, mean over all that were in use."""
    mean_window: float | None
    """Answers in the window that spoke for it."""
    saving: float | None
    """Share of the cost of the oracle for every answer that was saved, audits paid for."""
    speedup: float | None
    """The same as a ratio of costs."""


class NodePlan(msgspec.Struct, kw_only=True, frozen=True):
    """Who answers for a stream at one node that lists shortcuts, and why."""

    node: str
    kind: ShortcutKind = "variant"
    """Of shortcut."""
    oracle: str
    """The model that the others are measured against."""
    shortcuts: list[str]
    phase: Phase
    """``probation``, ``trusted``: shortcuts answer, audited often or seldom; ``off``: the oracle answers."""
    answers: int
    shortcut_share: float
    """Of the answers, those that a shortcut gave, 0…1."""
    agreement: Agreement
    audits: int
    """Since the beginning, those that are forgotten included."""
    unsampled: int
    """Answers of shortcuts while no audit could be taken on."""
    given_up: int
    """Answers that were drawn for an audit that was not made."""
    switched_off: int
    switch_offs: list[SwitchOff] = []
    """The latest."""
    specialization: Specialization | None = None
    """Where ``kind`` is ``specialised``."""


class StreamPlan(msgspec.Struct, kw_only=True, frozen=True):
    """How a stream is analysed at present. Topic ``plans.v1`` (compacted), key = stream."""

    schema: Literal["sluice.plan/1"] = PLAN_SCHEMA
    stream: str
    query: str
    at: datetime
    nodes: list[NodePlan]


class Event(msgspec.Struct, kw_only=True, frozen=True):
    """The life cycle of a track, derived from results. Topic ``events.v1``, key = stream."""

    schema: Literal["sluice.event/1"] = EVENT_SCHEMA
    type: Literal["new", "update", "end"]
    stream: str
    run: str
    seq: int
    """The frame that caused the event."""
    track_id: int
    label: str
    confidence: float
    media_time_s: float
    first_media_time_s: float
    last_media_time_s: float
    bounding_box: BoundingBox
    attributes: list[Attribute] = []


class DeadLetter(msgspec.Struct, kw_only=True, frozen=True):
    """A message that could not be processed, with its place of origin. Topic ``dlq.v1``, original key."""

    schema: Literal["sluice.dead-letter/1"] = DEAD_LETTER_SCHEMA
    reason: str
    """A code: ``bad_header``, ``wrong_schema``, ``undecodable_image``, ``image_too_large``, ``failed``."""
    message: str
    topic: str
    partition: int
    offset: int
    key: str | None
    at: datetime
    headers: dict[str, str] = {}
    value_bytes: int = 0
    value_base64: str | None = None
    """The original bytes; None where they are larger than the limit for dead letters."""


Message = Result | StreamStatus | StreamPlan | Event | DeadLetter | FrameHeader
M = TypeVar("M", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()


def to_json(message: msgspec.Struct) -> bytes:
    """Encode a message for the wire."""
    return _encoder.encode(message)


def from_json(data: bytes | memoryview, kind: type[M]) -> M:
    """Decode a message; raises ``msgspec.ValidationError``/``DecodeError`` where it is not of this kind and version."""
    return msgspec.json.decode(data, type=kind)
