"""Makes notifications of events. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from operators.wire.bounds import Label
from operators.wire.notification import STATE
from operators.wire.schema import Counts, Event, Notification, StreamStatus, from_json, to_json

ID_DIGITS = 32


class _Typed(msgspec.Struct):
    type: Label


def read_event(value: bytes) -> Event | Counts:
    """A message of the topic of events; raises ``Malformed``."""
    if from_json(value, _Typed).type == "count":
        return from_json(value, Counts)
    return from_json(value, Event)


def notice_of(message: Event | Counts | StreamStatus) -> Notification:
    """The notification of an event, of counts, or of a change of a stream's state.

    Its id is of the content alone: a worker that repeats an event after a crash repeats its id too.
    """
    digest = hashlib.sha256(to_json(message)).hexdigest()[:ID_DIGITS]
    if isinstance(message, StreamStatus):
        return Notification(id=digest, kind=STATE, stream=message.stream, state=message)
    if isinstance(message, Counts):
        return Notification(id=digest, kind=message.type, stream=message.stream, count=message)
    return Notification(id=digest, kind=message.type, stream=message.stream, event=message)
