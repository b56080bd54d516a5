"""Which notifications a sink wants. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from operators.wire.schema import Event, Notification
from pipelines.observe.forward.sinks_file import SinkSpec


def wants(sink: SinkSpec, notice: Notification) -> bool:
    """Whether the sink wants this one: the right kind, stream and, of an event, label and zone."""
    event = notice.event
    return (
        (sink.kinds is None or notice.kind in sink.kinds)
        and (sink.streams is None or any(fnmatchcase(notice.stream, pattern) for pattern in sink.streams))
        and (event is None or sink.labels is None or not set(sink.labels).isdisjoint(words(event)))
        and (event is None or sink.zones is None or not {event.zone, event.line}.isdisjoint(sink.zones))
    )


def words(event: Event) -> list[str]:
    """What an object is called: its label, and the answers of recognisers."""
    return [event.label, *(answer.label for answer in event.attributes)]
