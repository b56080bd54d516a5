"""The MQTT topics of streams, and what announces them to Home Assistant. Pure.

Names of streams are not trusted: in topics whatever is special is percent-encoded, so that each stream has one
level of its own and no two streams share it. Home Assistant is given them only where it shows text: never in a
template, and never in an id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
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

    def zone(self, stream: str, zone: str) -> str:
        """Retained: how many objects are in a zone, as a plain number."""
        return f"{self._of(stream)}/zones/{quote(zone, safe='')}"

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
    return dict(_announcement(wanted, topics, stream, (part, part), said) for part, said in parts.items())


def zone_announcement(wanted: Announced, topics: Topics, stream: str, zone: str) -> tuple[str, bytes]:
    """The retained message about the objects in a zone, after its topic."""
    said = {"name": zone[:NAME_CHARS], "state_topic": topics.zone(stream, zone), "state_class": "measurement"}
    return _announcement(wanted, topics, stream, ("sensor", f"zone_{_key(zone)}"), said)


def _announcement(
    wanted: Announced, topics: Topics, stream: str, entity: tuple[str, str], said: Mapping[str, Any]
) -> tuple[str, bytes]:
    """``entity``: its component of Home Assistant, and its name within the stream's device."""
    component, name = entity
    # One installation per prefix: two of them may have streams of the same name.
    key = _key(f"{topics.prefix}\0{stream}")
    device = {"identifiers": [f"sluice_{key}"], "name": stream[:NAME_CHARS], "manufacturer": "Sluice"}
    shared = {"availability_topic": topics.status, "device": device, "unique_id": f"sluice_{key}_{name}"}
    node = f"sluice_{key}" if name == component else f"sluice_{key}/{name}"
    return f"{wanted.prefix}/{component}/{node}/config", json.dumps({**said, **shared}).encode()


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]
