"""The life cycle of tracks, derived from results. Pure: the same results give the same events."""

from __future__ import annotations

from collections import OrderedDict, deque

from operators.frames.media_stopwatch import MediaStopwatch
from operators.observer import UNOBSERVED, Observer
from operators.publish.zone_events import NO_ZONES, Tracked, ZoneEvents, ZoneRules, event
from operators.wire.schema import Counts, Event, Object, Result

SEEN = 128
"""Number of frames by which a repeated result is recognised: more than can be in work at once."""
MOST_TRACKS = 4096
"""Tracks of a stream that have not ended; beyond, the one that was seen longest ago ends."""

TrackMessage = Event | Counts
"""The messages about tracks."""


class Lifecycle:
    """Turns the results of one stream, in order, into ``new``, ``update`` and ``end`` events of its tracks, and into
    what they do in zones.

    Time is media time of analysed frames: a track does not end while nobody looks.
    """

    def __init__(
        self, update_every_s: float = 10.0, end_after_s: float = 3.0, zone_events: ZoneEvents | None = None
    ) -> None:
        """``update`` comes when the label or an answer changes, and else at most every ``update_every_s``;
        ``end`` when a track was not seen for ``end_after_s``."""
        self._update_every_s, self._end_after_s = update_every_s, end_after_s
        self._zone_events = zone_events or ZoneEvents()
        self._tracks: OrderedDict[int, Tracked] = OrderedDict()
        self._last: Result | None = None
        self._seen: deque[int] = deque(maxlen=SEEN)
        self._clock = MediaStopwatch()

    def step(self, result: Result) -> list[TrackMessage]:
        """Return the events that a result causes; a repeated result causes none, a new run ends the old tracks."""
        events: list[TrackMessage] = []
        if self._last is not None and result.run != self._last.run:
            events = self.finish()
            self._seen.clear()
        elif result.seq in self._seen:
            return []
        self._last = result
        self._seen.append(result.seq)
        if result.outcome != "analysed":
            return events
        self._clock.move(result.frame.media_time_s)
        self._zone_events.move(result.frame.media_time_s)
        for found in result.objects:
            events += self._see(result, found)
        events += self._end_unseen(result)
        return [*events, *self._zone_events.count(result, self._tracks)]

    def finish(self) -> list[TrackMessage]:
        """End all tracks: the stream is over."""
        if self._last is None:
            return []
        ended = [each for number in [*self._tracks] for each in self._end(self._last, number)]
        return [*ended, *self._zone_events.close(self._last, self._tracks)]

    def _see(self, result: Result, found: Object) -> list[Event]:
        number = found.track_id
        if number is None:
            return []
        track, events = self._tracks.get(number), list[Event]()
        if track is None:
            now_s = result.frame.media_time_s
            track = self._tracks[number] = Tracked(found, now_s, now_s, self._clock.now_s, self._clock.now_s)
            events.append(event("new", result, number, track))
        elif self._changed(result, found, track):
            events.append(event("update", result, number, track))
        self._tracks.move_to_end(number)
        return events + self._zone_events.see(result, number, track)

    def _changed(self, result: Result, found: Object, track: Tracked) -> bool:
        """Take the object of a known track; whether that is worth an update."""
        before = track.identity
        track.last, track.last_s, track.seen_at_s = found, result.frame.media_time_s, self._clock.now_s
        if track.identity == before and self._clock.now_s - track.published_at_s < self._update_every_s:
            return False
        track.published_at_s = self._clock.now_s
        return True

    def _end_unseen(self, result: Result) -> list[Event]:
        """End the tracks that were not seen for long, which come first, and those that are too many."""
        events: list[Event] = []
        while self._tracks:
            number, oldest = next(iter(self._tracks.items()))
            if self._clock.now_s - oldest.seen_at_s <= self._end_after_s and len(self._tracks) <= MOST_TRACKS:
                break
            events += self._end(result, number)
        return events

    def _end(self, result: Result, number: int) -> list[Event]:
        track = self._tracks.pop(number)
        return [*self._zone_events.end(result, number, track), event("end", result, number, track)]


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
        self.reach_s = end_after_s + 2 * zones.hysteresis.settle_s
        """Media time of results by which a successor knows the tracks that have not ended, and what they are about to
        do in zones: to be believed inside, then outside."""
        self._zones = zones
        self._observer = observer
        self._streams: dict[str, Lifecycle] = {}

    def __call__(self, result: Result) -> list[TrackMessage]:
        if result.stream not in self._streams:
            zone_events = ZoneEvents(self._zones, result.stream)
            self._streams[result.stream] = Lifecycle(self._update_every_s, self._end_after_s, zone_events)
        return self._told(self._streams[result.stream].step(result))

    def finish(self) -> list[TrackMessage]:
        """End the tracks of all streams: there are no more frames."""
        return self._told([each for lifecycle in self._streams.values() for each in lifecycle.finish()])

    def forget(self, stream: str) -> None:
        """Drop the tracks of a stream whose partition moved away; the other worker publishes their end."""
        self._streams.pop(stream, None)

    def _told(self, events: list[TrackMessage]) -> list[TrackMessage]:
        for each in events:
            self._observer.event_found(each)
        return events
