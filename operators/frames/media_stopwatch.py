"""Counts the media time that has passed in a stream, whatever single frames claim. Pure."""

from __future__ import annotations


class MediaStopwatch:
    """Adds up the forward steps of a stream's media time, and stands still for one step where the time goes back.

    So a single frame with an odd time does not affect the frames after it, however far it jumped.
    """

    def __init__(self) -> None:
        self._media_s: float | None = None
        self.now_s = 0.0
        """Media time that has passed since the first frame."""

    def move(self, media_s: float) -> float:
        """Take the media time of the next frame; returns the seconds since the one before, 0 or more."""
        elapsed_s = 0.0 if self._media_s is None else max(0.0, media_s - self._media_s)
        self._media_s = media_s
        self.now_s += elapsed_s
        return elapsed_s
