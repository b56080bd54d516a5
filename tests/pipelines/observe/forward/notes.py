"""Notifications for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from operators.wire.schema import Counts, Event, Notification, StreamStatus
from pipelines.observe.forward.sink import notice_of
from tests.operators.publish.messages import AT, BOX, attribute

HOSTILE = "../+/#/$SYS/{{ 7*7 }}\"'</script>é"
"""A stream's name with whatever is special in a topic, a template or a page."""


def event(stream: str = "yard", seq: int = 7, **changes: Any) -> Event:
    """A track that has come."""
    said: dict[str, Any] = {
        "type": "new", "stream": stream, "run": "r1", "seq": seq, "track_id": seq, "label": "moving",
        "confidence": 0.8, "media_time_s": 0.7, "first_media_time_s": 0.7, "last_media_time_s": 0.7,
        "bounding_box": BOX, "attributes": [attribute("van")], "captured_at": AT,
    }  # fmt: skip
    return Event(**said | changes)


def event_note(stream: str = "yard", seq: int = 7, **changes: Any) -> Notification:
    """The notification of ``event``."""
    return notice_of(event(stream, seq, **changes))


def count_note(stream: str = "yard", zones: Mapping[str, dict[str, int]] | None = None) -> Notification:
    """The notification of what a zone has counted."""
    counts = Counts(
        stream=stream,
        run="r1",
        seq=9,
        captured_at=AT,
        since_media_time_s=0,
        media_time_s=60,
        zones=dict(zones or {"ramp": {"car": 2}}),
    )
    return notice_of(counts)


def status(stream: str = "yard", state: Any = "running", **changes: Any) -> StreamStatus:
    """A stream's state."""
    return StreamStatus(stream=stream, run="r1", state=state, uri="rtsp://camera", at=AT, **changes)


def state_note(stream: str = "yard", state: Any = "running") -> Notification:
    """The notification of ``status``."""
    return notice_of(status(stream, state))
