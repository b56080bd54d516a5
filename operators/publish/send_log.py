"""The log of the sending side, each thing once: a broker that is away, a buffer that is full, frames too large."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)

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
        """The message has arrived or failed."""
        self._out_since.pop(stream, None)

    def watch(self, answered_at: float, now: float) -> None:
        """Log a broker that leaves messages unanswered; ``answered_at``: when it answered last."""
        if now - max(answered_at, min(self._out_since.values(), default=now)) > SILENT_S:
            self._log_absence("does not answer")

    def refused(self, error: Exception) -> None:
        """Log a broker that takes no messages."""
        self._log_absence(f"takes no frames ({type(error).__name__})")

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
