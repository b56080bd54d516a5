"""What a specialised recogniser knows of one stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cache_adapt.audit_state import AuditState
from operators.recognise.cascade import Cascade
from operators.recognise.remembered import Remembered
from operators.recognise.track_memory import TrackMemory
from operators.schema import ShortcutKind
from specialization.timeline import Timeline


class SpecialisedStream:
    """Tracks of the present run, the cascade where the node specialises, and what became of it over time."""

    def __init__(self, fresh: Callable[[], TrackMemory], cascade: Cascade | None) -> None:
        """``fresh``: makes a memory without tracks."""
        self.cascade = cascade
        self.timeline = Timeline()
        self.at_s = 0.0
        """Media time of the latest frame."""
        self.tracks = fresh()
        self._run: str | None = None
        self._fresh = fresh

    @property
    def epoch(self) -> int:
        """Answers of another epoch are not reused."""
        return self.cascade.weg.state.epoch if self.cascade else 0

    def begin(self, run: str, at_s: float) -> None:
        """A frame of the stream has come; in a new run of the source tracks are others."""
        if run != self._run:
            self._run, self.tracks = run, self._fresh()
        self.at_s = at_s

    def remembered(self, audits: Mapping[ShortcutKind, AuditState]) -> Remembered:
        """What shall survive."""
        return Remembered(dict(audits), self.cascade.state() if self.cascade else None, self.timeline.state)

    def recall(self, known: Remembered) -> None:
        """Go on with what survived."""
        if known.timeline is not None:
            self.timeline = Timeline(known.timeline)
        if self.cascade is not None and known.cascade is not None:
            self.cascade.restore(known.cascade)
