"""The contract of a sink, the notifications that it is told, and how it says that one was not delivered."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from operators.wire.bounds import Label
from operators.wire.events import STATE
from operators.wire.schema import Counts, Event, Notification, StreamStatus, from_json, to_json
from pipelines.observe.forward.sinks_file import SinkSpec

ID_DIGITS = 32


class Refused(Exception):
    """The sink does not take this notification, however often it is sent."""


class PictureRefused(Refused):
    """The sink does not take so much: it may take the notification without its picture."""


class Failed(Exception):
    """This attempt failed, perhaps by the notification's fault: the sink may do better with another one."""


class Away(Exception):
    """The sink cannot be reached, or says that it cannot work now: no notification would get through."""

    def __init__(self, why: str, not_before_s: float = 0.0) -> None:
        """``not_before_s``: for how long the sink has asked not to be asked again."""
        super().__init__(why)
        self.not_before_s = not_before_s


class Cut(Away):
    """The connection broke while this notification was on its way: perhaps by its fault, so attempts are counted."""


Missing = Literal["gone", "no_image", "no_time", "not_found", "unreadable", "too_large"]
"""Why there is no picture. ``gone``: there are only later frames; ``no_image``: capture sent the frame without its
image; ``no_time``: the event does not say when its frame was captured; ``not_found``: it was not among the frames that
may be looked at, or the broker did not answer; ``unreadable``: the image is damaged; ``too_large``: the picture is."""


@dataclass(frozen=True, slots=True)
class EventPicture:
    """The frame that caused an event, scaled down."""

    jpeg: bytes
    width: int
    height: int


class Sink(Protocol):
    """A place for notifications. An exception in ``deliver`` counts as ``Failed``: it is tried again for a while."""

    keeps_states: bool = False
    """Whether it keeps the states of streams for those who come later, and is to be told them at the beginning."""

    def restore(self, notice: Notification) -> None:
        """Take a stream's state as it is at the beginning, where states are kept."""

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        """Return once the other side has taken it; raises ``Refused``, ``Failed`` or ``Away``."""

    async def run(self) -> None:
        """The sink's own work, until it is cancelled."""


Sinks = Sequence[tuple[SinkSpec, Sink]]


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
