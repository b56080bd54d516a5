"""Messages of the topics become notifications. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from operators.wire.bounds import Label
from operators.wire.notification import STATE
from operators.wire.schema import Counts, Event, Notification, StreamStatus, from_json, to_json

ID_DIGITS = 32


class _Typed(msgspec.Struct):
    type: Label


def event_notice(value: bytes) -> Notification:
    """The notification of a message of the topic of events; raises ``Malformed``."""
    if from_json(value, _Typed).type == "count":
        counts = from_json(value, Counts)
        return Notification(id=_id(counts), kind=counts.type, stream=counts.stream, count=counts)
    event = from_json(value, Event)
    return Notification(id=_id(event), kind=event.type, stream=event.stream, event=event)


def state_notice(value: bytes) -> Notification:
    """The notification of a change of a stream's state; raises ``Malformed``."""
    status = from_json(value, StreamStatus)
    return Notification(id=_id(status), kind=STATE, stream=status.stream, state=status)


def _id(message: Event | Counts | StreamStatus) -> str:
    """From the content alone: a worker that repeats an event after a crash repeats its id too."""
    return hashlib.sha256(to_json(message)).hexdigest()[:ID_DIGITS]
