"""The MQTT topics of streams, and what announces them to Home Assistant. Pure.

Names of streams are not trusted: in topics whatever is special is percent-encoded, so that each stream has one
level of its own and no two streams share it. Home Assistant is given them only where it shows text: never in a
template, and never in an id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from operators.wire.events import STATE

STATE_TEMPLATE = "{{ value_json.state.state }}"
EVENT_TEMPLATE = (
    "{{ {'event_type': value_json.kind, 'label': value_json.event.label, 'id': value_json.id, "
    "'track_id': value_json.event.track_id} | to_json }}"
)
NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics under one prefix.

    >>> Topics("sluice").events("yard/#")
    'sluice/streams/yard%2F%23/events'
    """

    prefix: str

    @property
    def status(self) -> str:
        """Retained: ``online``, or ``offline`` once ``sluice forward`` is gone."""
        return f"{self.prefix}/status"

    def events(self, stream: str) -> str:
        return f"{self._of(stream)}/events"

    def state(self, stream: str) -> str:
        """Retained: the last notification of the stream's state."""
        return f"{self._of(stream)}/state"

    def counts(self, stream: str) -> str:
        """Retained: the last notification of what zones and lines have counted."""
        return f"{self._of(stream)}/counts"

    def snapshot(self, stream: str) -> str:
        """JPEGs, each before the event that it belongs to."""
        return f"{self._of(stream)}/snapshot"

    def _of(self, stream: str) -> str:
        return f"{self.prefix}/streams/{quote(stream, safe='')}"


@dataclass(frozen=True, slots=True)
class Announced:
    """The messages about every stream that Home Assistant has."""

    prefix: str
    """Begins the topics that it looks at."""
    kinds: Sequence[str]
    pictures: bool
    """Whether events come with snapshots."""


def announcements(wanted: Announced, topics: Topics, stream: str) -> dict[str, bytes]:
    """Retained messages by topic: the stream's state, its events and its latest snapshot."""
    # One installation per prefix: two of them may have streams of the same name.
    key = hashlib.sha256(f"{topics.prefix}\0{stream}".encode()).hexdigest()[:16]
    events = [kind for kind in wanted.kinds if kind not in (STATE, "count")]
    parts: dict[str, dict[str, Any]] = {}
    if STATE in wanted.kinds:
        parts["sensor"] = {"name": "State", "state_topic": topics.state(stream), "value_template": STATE_TEMPLATE}
    if events:
        parts["event"] = {
            "name": "Events",
            "state_topic": topics.events(stream),
            "value_template": EVENT_TEMPLATE,
            "event_types": events,
        }
    if events and wanted.pictures:
        parts["image"] = {"name": "Snapshot", "image_topic": topics.snapshot(stream), "content_type": "image/jpeg"}
    shared = {
        "availability_topic": topics.status,
        "device": {"identifiers": [f"sluice_{key}"], "name": stream[:NAME_CHARS], "manufacturer": "Sluice"},
    }
    return {
        f"{wanted.prefix}/{part}/sluice_{key}/config": json.dumps(
            {**said, **shared, "unique_id": f"sluice_{key}_{part}"}
        ).encode()
        for part, said in parts.items()
    }
