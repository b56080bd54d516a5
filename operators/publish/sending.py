"""The topics of capture, how long their broker is waited for, and how often its failures are logged."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import NamedTuple

from kafka.errors import InvalidTimestampError

log = logging.getLogger(__name__)


class CaptureTopics(NamedTuple):
    """The full names of the topics that a capture writes."""

    frames: str
    streams: str
    """The states of streams."""


NEVER = float("inf")


@dataclass(slots=True)
class Patience:
    """Ends at a moment, or once the broker has been silent for too long; whichever comes first."""

    answered_at: float
    """When the broker answered last."""
    give_up_at: float = NEVER
    silence_allowed_s: float = NEVER

    def answered(self, now: float) -> None:
        """The broker has taken a message."""
        self.answered_at = now

    def end_at(self, moment: float) -> None:
        """Wait no longer than until then."""
        self.give_up_at = min(self.give_up_at, moment)

    def allow_silence(self, seconds: float, now: float) -> None:
        """Give up once the broker has been silent for so long from now on; saying it again changes nothing."""
        if self.silence_allowed_s != seconds:
            self.silence_allowed_s, self.answered_at = seconds, now

    def left_s(self, now: float) -> float:
        """The time that is left, 0 or less where there is none."""
        return min(self.give_up_at, self.answered_at + self.silence_allowed_s) - now


SILENT_S = 3.0
"""Age of an unanswered message at which the user is warned."""


class SendLog:
    """Remembers what was logged already, and which streams' messages are on their way."""

    def __init__(self, topic: str, buffer_bytes: int) -> None:
        self._topic = topic
        self._buffer_mb = buffer_bytes // 1_000_000
        self._out_since: dict[str, float] = {}
        self._away = False
        self._full = False
        self._too_large: set[str] = set()

    def sending(self, stream: str, now: float) -> None:
        self._out_since[stream] = now

    def ended(self, stream: str) -> None:
        self._out_since.pop(stream, None)

    def watch(self, answered_at: float, now: float) -> None:
        """Log a broker that leaves messages unanswered; ``answered_at``: when it answered last."""
        if now - max(answered_at, min(self._out_since.values(), default=now)) > SILENT_S:
            self._log_absence("does not answer")

    def refused(self, error: Exception) -> None:
        """Log a broker that takes no messages."""
        clock = isinstance(error, InvalidTimestampError)
        advice = "set the clock of this machine, or let `sluice topics create --update` make the broker's own count"
        self._log_absence(f"takes no frames ({type(error).__name__}{f': {advice}' * clock})")

    def answers(self, images_dropped: int) -> None:
        """Log that a broker is back; ``images_dropped``: frames sent without image so far."""
        if self._away:
            log.warning("the broker answers again; frames without image so far: %d", images_dropped)
            self._away = self._full = False

    def buffer_full(self) -> None:
        """Log that frames lose their images."""
        if not self._full:
            self._full = True
            log.warning("the buffer for frames is full: the oldest lose their images (capture_buffer_full)")

    def too_large(self, stream: str, size_bytes: int) -> None:
        """Log that the topic refuses a frame for its size."""
        if stream not in self._too_large:
            self._too_large.add(stream)
            log.warning(
                "stream %s: a frame of %d bytes is larger than topic %s accepts and goes without its image "
                "(message_too_large): raise the topic's max.message.bytes (`sluice topics create --update`) or lower "
                "the stream's max_width",
                *(stream, size_bytes, self._topic),
            )

    def _log_absence(self, how: str) -> None:
        if not self._away:
            self._away = True
            log.warning("the broker %s: frames wait in a buffer of %d MB", how, self._buffer_mb)
