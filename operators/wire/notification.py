"""The message that tells other systems, outside of Kafka, what has happened."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from operators.wire import bounds
from operators.wire.bounds import Id, Label, Side, Text
from operators.wire.events import Counts, Event, StreamStatus

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
