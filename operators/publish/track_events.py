"""The life cycle of tracks, derived from results. Pure: the same results give the same events."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from operators.frames.media_stopwatch import MediaStopwatch
from operators.wire.schema import Event, Object, Result

SEEN = 128
"""Number of frames by which a repeated result is recognised: more than can be in work at once."""


@dataclass(slots=True)
class _Track:
    """What is known of a track that has not ended."""

    last: Object
    first_s: float
    last_s: float
    seen_at_s: float
    """When the track was last seen, by the ``MediaStopwatch``."""
    published_at_s: float
    """When its last event was published, by the ``MediaStopwatch``."""

    @property
    def identity(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The label and answers, whose change causes an update."""
        return self.last.label, tuple((answer.name, answer.label) for answer in self.last.attributes)


class Lifecycle:
    """Turns the results of one stream, in order, into ``new``, ``update`` and ``end`` events of its tracks.

    Time is media time of analysed frames: a track does not end while nobody looks.
    """

    def __init__(self, update_every_s: float = 10.0, end_after_s: float = 3.0) -> None:
        """``update`` comes when the label or an answer changes, and else at most every ``update_every_s``;
        ``end`` when a track was not seen for ``end_after_s``."""
        self._update_every_s, self._end_after_s = update_every_s, end_after_s
        self._tracks: dict[int, _Track] = {}
        self._last: Result | None = None
        self._seen: deque[int] = deque(maxlen=SEEN)
        self._clock = MediaStopwatch()

    def step(self, result: Result) -> list[Event]:
        """Return the events that a result causes; a repeated result causes none, a new run ends the old tracks."""
        events: list[Event] = []
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
        for found in result.objects:
            events += self._see(result, found)
        return events + self._end_unseen(result)

    def finish(self) -> list[Event]:
        """End all tracks: the stream is over."""
        if self._last is None:
            return []
        events = [_event("end", self._last, number, track) for number, track in self._tracks.items()]
        self._tracks.clear()
        return events

    def _see(self, result: Result, found: Object) -> list[Event]:
        if found.track_id is None:
            return []
        now_s = result.frame.media_time_s
        track = self._tracks.get(found.track_id)
        if track is None:
            track = self._tracks[found.track_id] = _Track(found, now_s, now_s, self._clock.now_s, self._clock.now_s)
            return [_event("new", result, found.track_id, track)]
        before = track.identity
        track.last, track.last_s, track.seen_at_s = found, now_s, self._clock.now_s
        if track.identity == before and self._clock.now_s - track.published_at_s < self._update_every_s:
            return []
        track.published_at_s = self._clock.now_s
        return [_event("update", result, found.track_id, track)]

    def _end_unseen(self, result: Result) -> list[Event]:
        ended = [n for n, track in self._tracks.items() if self._clock.now_s - track.seen_at_s > self._end_after_s]
        return [_event("end", result, number, self._tracks.pop(number)) for number in ended]


def _event(kind: Literal["new", "update", "end"], result: Result, number: int, track: _Track) -> Event:
    return Event(
        type=kind,
        stream=result.stream,
        run=result.run,
        seq=result.seq,
        track_id=number,
        label=track.last.label,
        confidence=track.last.confidence,
        media_time_s=result.frame.media_time_s,
        first_media_time_s=track.first_s,
        last_media_time_s=track.last_s,
        bounding_box=track.last.detection.bounding_box,
        attributes=track.last.attributes,
        captured_at=result.frame.captured_at,
    )
