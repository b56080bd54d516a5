"""A video that a device may decode, and that software goes on with where the device fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Protocol

from operators.capture.picture import Picture
from operators.capture.sources.decode import DeviceFailed, VideoReader
from operators.capture.sources.hardware import Hardware


class Opens(Protocol):
    """Opens the video; ``SourceError`` if that fails."""

    def __call__(self, *, hardware: Hardware) -> VideoReader:
        """``hardware``: a device that was tried, to decode instead of software."""


class ResumedVideo:
    """A recording whose frames come once each and in order, though its device fails in the middle.

    Software then decodes it from its beginning and leaves out what has been handed on: media times say which frames
    those are. That costs time once, and needs no index. A camera has no beginning: there ``DeviceFailed`` is raised.
    """

    def __init__(self, opens: Opens, hardware: Hardware) -> None:
        self._opens = opens
        self._hardware = hardware
        self._reader = opens(hardware=hardware)

    @property
    def interval_s(self) -> float:
        return self._reader.interval_s

    @property
    def duration_s(self) -> float | None:
        return self._reader.duration_s

    def pictures(self, on_progress: Callable[[], None] = lambda: None) -> Iterator[Picture]:
        last_s = -math.inf
        try:
            for picture in self._reader.pictures(on_progress):
                last_s = picture.media_time_s
                yield picture
        except DeviceFailed:
            if not self._reader.finite:
                raise
            self._reader.close()
            self._reader = self._opens(hardware=self._hardware)  # which is software now
            yield from (each for each in self._reader.pictures(on_progress) if each.media_time_s > last_s)

    def summary(self) -> str | None:
        return self._reader.summary()

    def close(self) -> None:
        self._reader.close()
