"""The MQTT topics of streams. Pure.

Names of streams may come from anybody: slashes, wildcards and whatever else is special are percent-encoded, so that
each stream has one level of its own and no two streams share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


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
        """Notifications of events."""
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
