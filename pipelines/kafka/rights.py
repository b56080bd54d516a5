"""The rights that a command needs on the broker, and which of them the broker does not grant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.settings import BrokerSettings
from serving.errors import BadInput

HIDDEN_TOPIC = 29
"""The broker's words for a topic that the user may not see, whether it exists or not."""


@dataclass(frozen=True)
class TopicRights:
    """Operations (``READ``, ``WRITE``) by topic, and the consumer group to join."""

    topics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    group: str | None = None


def needs(read: Iterable[str] = (), write: Iterable[str] = (), group: str | None = None) -> TopicRights:
    """``TopicRights`` from the topics to read and to write."""
    wanted = {"READ": frozenset(read), "WRITE": frozenset(write)}
    every = wanted["READ"] | wanted["WRITE"]
    topics = {topic: frozenset(right for right, names in wanted.items() if topic in names) for topic in sorted(every)}
    return TopicRights(topics, group)


def lacking_rights(described: Iterable[Mapping[str, Any]], wanted: Mapping[str, frozenset[str]]) -> list[str]:
    """The rights that are missing, in words. A broker that does not list rights counts as one that grants them."""
    found = []
    for topic in sorted(described, key=lambda topic: str(topic["name"])):
        rights = wanted[topic["name"]]
        allowed = topic.get("authorized_operations") or rights
        lacking = rights if topic["error_code"] == HIDDEN_TOPIC else rights - set(allowed)
        if lacking:
            found.append(f"{' and '.join(sorted(right.lower() for right in lacking))} topic {topic['name']}")
    return found


def refused(settings: BrokerSettings, lacking: Iterable[str]) -> BadInput:
    """The error that names the rights, in the words of ``lacking_rights``."""
    user = "this client" if settings.username is None else f"the user {settings.username!r}"
    return BadInput(f"the broker at {settings.url} does not let {user} {', '.join(lacking)}: grant these rights")
