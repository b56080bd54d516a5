"""The messages about streams, tracks, zones and lines, and messages that could not be processed."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from operators.wire import bounds
from operators.wire.bounds import Count, Duration, Id, Label, MediaTime, Moment, Number, Seq, Share, Side, Text
from operators.wire.result import Attribute, BoundingBox

STREAM_SCHEMA: Final = "sluice.stream/1"
StreamState = Literal["starting", "running", "stalled", "reconnecting", "ended", "failed"]


class StreamStatus(msgspec.Struct, kw_only=True, frozen=True):
    """A change of a stream's state. Topic ``streams.v1`` (compacted), key = stream."""

    schema: Literal["sluice.stream/1"] = STREAM_SCHEMA
    stream: Id
    run: Id
    state: StreamState
    reason: Label | None = None
    """A code that a program can act on: ``auth_failed``, ``refused``, ``timeout``, …; None while all is well."""
    message: Text | None = None
    """The reason in words, without credentials."""
    uri: Text
    """The source's address, without credentials."""
    at: Moment
    frames: Count = 0
    """Frames sampled so far in this run."""
    restarts: Count = 0

    def __post_init__(self) -> None:
        bounds.check(self.at)


EVENT_SCHEMA: Final = "sluice.event/1"
Direction = Literal["left_to_right", "right_to_left"]
ZoneCause = Literal["crossed", "appeared", "ended"]


class Event(msgspec.Struct, kw_only=True, frozen=True):
    """The life cycle of a track, and what it does in zones and at lines, derived from results.

    Topic ``events.v1``, key = stream. Fields that only some types have are left out of the others.
    """

    schema: Literal["sluice.event/1"] = EVENT_SCHEMA
    type: Literal["new", "update", "end", "enter", "leave", "cross"]
    stream: Id
    run: Id
    seq: Seq
    """The frame that caused the event."""
    track_id: Count
    label: Label
    confidence: Share
    media_time_s: MediaTime
    first_media_time_s: MediaTime
    last_media_time_s: MediaTime
    bounding_box: BoundingBox
    attributes: Annotated[list[Attribute], Meta(max_length=bounds.MOST_ATTRIBUTES)] = []
    captured_at: Moment | None = None
    """When the frame that caused the event was captured; None in messages of earlier versions."""
    zone: Label | UnsetType = UNSET
    """The zone of an ``enter`` or ``leave``."""
    line: Label | UnsetType = UNSET
    """The line of a ``cross``."""
    direction: Direction | UnsetType = UNSET
    """The way of a ``cross``: from which hand to which of one who walks from the line's first point to its last."""
    at_media_time_s: MediaTime | UnsetType = UNSET
    """When it came, crossed, or was last inside: before ``media_time_s``, at which that was sure."""
    dwell_s: Duration | UnsetType = UNSET
    """How long a ``leave`` ends: media time from the first to the last moment inside."""
    entered_track_id: Count | UnsetType = UNSET
    """The track that entered, where the one that leaves has gone on as it; left out where they are the same."""
    query: Id | UnsetType = UNSET
    """The query whose results show it; left out in files of runs, and in messages of earlier versions."""
    cause: ZoneCause | UnsetType = UNSET
    """Why there is an ``enter`` or ``leave``. ``crossed``: the object was seen on both sides of the border;
    ``appeared``: its track began inside; ``ended``: its track has ended inside."""

    def __post_init__(self) -> None:
        if self.captured_at is not None:
            bounds.check(self.captured_at)


COUNT_SCHEMA: Final = "sluice.count/1"
LabelCounts = Annotated[dict[Label, Count], Meta(max_length=bounds.MOST_LISTED)]
"""Number of objects by label."""


class LineCounts(msgspec.Struct, kw_only=True, frozen=True):
    """Objects that crossed a line."""

    left_to_right: LabelCounts = {}
    right_to_left: LabelCounts = {}


class Counts(msgspec.Struct, kw_only=True, frozen=True):
    """The counts of a stream's zones and lines in an interval. Topic ``events.v1``, key = stream."""

    schema: Literal["sluice.count/1"] = COUNT_SCHEMA
    type: Literal["count"] = "count"
    stream: Id
    run: Id
    seq: Seq
    """The frame that ended the interval."""
    captured_at: Moment
    """When that frame was captured."""
    since_media_time_s: MediaTime
    media_time_s: MediaTime
    zones: Annotated[dict[Label, LabelCounts], Meta(max_length=bounds.MOST_ZONES)] = {}
    """For every zone the objects that are inside at the end of the interval."""
    lines: Annotated[dict[Label, LineCounts], Meta(max_length=bounds.MOST_ZONES)] = {}
    """For every line the objects that crossed it in the interval."""
    query: Id | UnsetType = UNSET
    """The query that counts; left out in files of runs, and in messages of earlier versions."""

    def __post_init__(self) -> None:
        bounds.check(self.captured_at)


DEAD_LETTER_SCHEMA: Final = "sluice.dead-letter/1"
HeaderText = Annotated[str, Meta(max_length=bounds.HEADER_CHARS)]
"""A header or key in a dead letter."""


class DeadLetter(msgspec.Struct, kw_only=True, frozen=True):
    """A message that could not be processed, with its place of origin. Topic ``dlq.v1``, original key."""

    schema: Literal["sluice.dead-letter/1"] = DEAD_LETTER_SCHEMA
    reason: Label
    """A code: ``bad_header``, ``wrong_schema``, ``undecodable_image``, ``image_too_large``, ``failed``,
    ``unreadable_record``."""
    message: Text
    topic: Label
    partition: Count
    offset: Number
    key: HeaderText | None
    at: Moment
    headers: Annotated[dict[Label, HeaderText], Meta(max_length=bounds.MOST_HEADERS)] = {}
    """The first headers; a long one is cut off."""
    value_bytes: Count = 0
    value_base64: Annotated[str, Meta(max_length=bounds.LETTER_CHARS)] | None = None
    """The original bytes; None if they are larger than the limit for dead letters."""

    def __post_init__(self) -> None:
        bounds.check(self.at)


NOTIFICATION_SCHEMA: Final = "sluice.notification/1"
STATE: Final = "state"
"""The kind of a notification about the state of a stream; other kinds are the types of events and ``count``."""


class Snapshot(msgspec.Struct, kw_only=True, frozen=True):
    """The frame that caused the event, scaled down."""

    media_type: Literal["image/jpeg"] = "image/jpeg"
    width: Side
    height: Side
    base64: Annotated[str, Meta(max_length=bounds.SNAPSHOT_CHARS)] | None = None
    """The picture; None where it travels beside the message."""
    topic: Text | None = None
    """The MQTT topic on which the picture was published just before this message."""


class Notification(msgspec.Struct, kw_only=True, frozen=True):
    """A message of ``sluice forward`` to a sink: an event, the counts of zones, or a change of a stream's state."""

    schema: Literal["sluice.notification/1"] = NOTIFICATION_SCHEMA
    id: Id
    """The same for the same content: a consumer that was told twice knows it by this."""
    kind: Label
    """The type of the event, ``count``, or ``state``."""
    stream: Id
    event: Event | None = None
    count: Counts | None = None
    state: StreamStatus | None = None
    snapshot: Snapshot | None = None
    snapshot_missing: Label | None = None
    """Why a snapshot that was asked for is not there; a code."""
