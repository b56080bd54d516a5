"""The life cycle of the tracks of all streams a worker has seen."""

from __future__ import annotations

from operators.observer import UNOBSERVED, Observer
from operators.publish.track_events import Lifecycle, TrackMessage
from operators.publish.zone_events import NO_ZONES, ZoneEvents, ZoneRules
from operators.wire.schema import Result


class Lifecycles:
    """One ``Lifecycle`` for each stream; called with every result, in the order of its stream."""

    def __init__(
        self,
        update_every_s: float,
        end_after_s: float,
        zones: ZoneRules = NO_ZONES,
        observer: Observer = UNOBSERVED,
    ) -> None:
        """``observer`` hears of every event, before the caller."""
        self._update_every_s = update_every_s
        self._end_after_s = end_after_s
        self._zones = zones
        self._observer = observer
        self._streams: dict[str, Lifecycle] = {}

    def __call__(self, result: Result) -> list[TrackMessage]:
        """Return the events that a result causes."""
        if result.stream not in self._streams:
            zone_events = ZoneEvents(self._zones, result.stream)
            self._streams[result.stream] = Lifecycle(self._update_every_s, self._end_after_s, zone_events)
        return self._told(self._streams[result.stream].step(result))

    def finish(self) -> list[TrackMessage]:
        """End the tracks of all streams: there are no more frames."""
        return self._told([event for lifecycle in self._streams.values() for event in lifecycle.finish()])

    def forget(self, stream: str) -> None:
        """Drop the tracks of a stream whose partition moved away; the other worker publishes their end."""
        self._streams.pop(stream, None)

    def _told(self, events: list[TrackMessage]) -> list[TrackMessage]:
        for event in events:
            self._observer.event_found(event)
        return events
