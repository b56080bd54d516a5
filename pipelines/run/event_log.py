"""The events of a run: written as JSON lines, and counted for its report."""

from __future__ import annotations

from collections.abc import Iterable

from operators.publish.jsonl import JsonLines
from operators.publish.lifecycles import Lifecycles
from operators.publish.track_events import TrackMessage
from operators.wire.schema import Event, Result, to_json
from operators.zones.totals import EventTotals


class EventLog:
    """A sink that derives events from results, in the order of each stream."""

    def __init__(self, derive: Lifecycles, counts: EventTotals, lines: JsonLines | None) -> None:
        """``lines``: where events are written; None: nowhere."""
        self._derive, self._counts, self._lines = derive, counts, lines
        self._finished = False

    def write(self, result: Result) -> None:
        """Take a result; raises SluiceError if events can no longer be written."""
        self._take(self._derive(result))

    def finish(self) -> None:
        """End the tracks of all streams, once: there are no more results."""
        if not self._finished:
            self._finished = True
            self._take(self._derive.finish())

    def _take(self, messages: Iterable[TrackMessage]) -> None:
        for message in messages:
            if self._lines is not None:
                self._lines.append(to_json(message))
            if isinstance(message, Event):
                self._counts.see(message)
