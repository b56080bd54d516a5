"""The life cycle of the tracks of all streams a worker has seen."""

from __future__ import annotations

from operators.publish.track_events import Lifecycle
from operators.wire.schema import Event, Result


class Lifecycles:
    """One ``Lifecycle`` for each stream; called with every result, in the order of its stream."""

    def __init__(self, update_every_s: float, end_after_s: float) -> None:
        self._update_every_s = update_every_s
        self._end_after_s = end_after_s
        self._streams: dict[str, Lifecycle] = {}

    def __call__(self, result: Result) -> list[Event]:
        """Return the events that a result causes."""
        if result.stream not in self._streams:
            self._streams[result.stream] = Lifecycle(self._update_every_s, self._end_after_s)
        return self._streams[result.stream].step(result)

    def forget(self, stream: str) -> None:
        """Drop the tracks of a stream whose partition moved away; the other worker publishes their end."""
        self._streams.pop(stream, None)
