"""A track that has not ended, and the events about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from operators.wire.schema import Event, Object, Result


@dataclass(slots=True)
class Tracked:
    """A track that has not ended."""

    last: Object
    first_s: float
    last_s: float
    seen_at_s: float
    """When the track was last seen, by the ``MediaStopwatch``."""
    published_at_s: float
    """When its last ``new`` or ``update`` was published, by the ``MediaStopwatch``."""

    @property
    def identity(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The label and answers, whose change causes an update."""
        return self.last.label, tuple((answer.name, answer.label) for answer in self.last.attributes)


def event(kind: Any, result: Result, number: int, track: Tracked, **more: Any) -> Event:
    """An event of a track, caused by the frame of ``result``; ``more``: fields that only this kind has."""
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
        **more,
    )
