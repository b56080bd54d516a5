"""The sources that are read in this process: files, directories of images, generated scenes. A device may decode a
video, and software goes on with it where the device fails.

The generated street is drawn by the folder ``datasets``, which is a checkout's: it is not installed with Sluice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Protocol

from operators.capture.picture import Picture
from operators.capture.sources.convert import shrink
from operators.capture.sources.decode import DeviceFailed, VideoReader
from operators.capture.sources.devices import choose_device
from operators.capture.sources.hardware import Hardware
from operators.capture.sources.images import ImageReader, is_image
from operators.capture.sources.sampling import Sampler, Sampling
from operators.capture.sources.uri import SourceUri
from serving.errors import SourceError


def drawing() -> ModuleType:
    """The package that draws; SourceError where it is not here."""
    try:
        return import_module("datasets.street")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("datasets"):
            raise
        advice = "give a clip, a camera or, by --data, pictures"
        raise SourceError(f"streets are drawn in a checkout of Sluice alone; {advice}", "invalid_uri") from None


class Source(Protocol):
    """A finite source, open. Read ``pictures()`` once, then call ``summary()``."""

    @property
    def interval_s(self) -> float:
        """Nominal time between its frames."""

    @property
    def duration_s(self) -> float | None:
        """The duration that it promises; None where it does not say."""

    def pictures(self) -> Iterator[Picture]:
        """The sampled frames, in order. ``SourceError`` if the source breaks."""

    def summary(self) -> str | None:
        """Return a note for people after the end; None if all is well."""

    def close(self) -> None:
        """Release files and memory."""


def open_source(
    uri: SourceUri,
    sampling: Sampling,
    max_width: int | None,
    hardware: Hardware | None = None,
    from_s: float = 0.0,
) -> Source:
    """Open a source that is not live; ``SourceError`` says what is wrong with it.

    ``hardware``: the device that is to decode videos instead of software. ``from_s``: media time before which frames
    are not needed, but for the first one; a source that cannot go there by an index yields them all.
    """
    if uri.kind == "synthetic":
        return GeneratedSource(uri, sampling, max_width)
    if uri.path.is_dir() or (uri.path.is_file() and is_image(uri.path)):
        return ImageReader(uri, sampling, max_width)
    hardware = hardware or Hardware()
    choose_device(hardware)
    return ResumedVideo(partial(VideoReader, uri, sampling, max_width, from_s=from_s), hardware)


def recording_length_s(uri: SourceUri) -> float | None:
    """How long a recording is, as far as it says; raises SourceError where it cannot be opened."""
    with closing(open_source(uri, Sampling(), None)) as source:
        return source.duration_s


class GeneratedSource:
    """Frames that are drawn. Every frame counts as a key frame."""

    def __init__(self, uri: SourceUri, sampling: Sampling, max_width: int | None) -> None:
        name, options = uri.generator
        if name != "street":
            raise SourceError(f"{uri}: unknown generator {name!r}, allowed: street", "invalid_uri")
        try:
            self._frames = iter(drawing().open_street(options))
        except ValueError as error:
            raise SourceError(f"{uri}: {error}", "invalid_uri") from None
        self._sampling = sampling
        self._max_width = max_width
        self.interval_s = 0.0
        self.duration_s: float | None = None

    def pictures(self) -> Iterator[Picture]:
        sampler = Sampler(self._sampling)
        last_s: float | None = None
        started = time.perf_counter()
        for frame in self._frames:
            if last_s is not None:
                self.interval_s = frame.media_time_s - last_s
            last_s = frame.media_time_s
            if sampler.takes(last_s):
                image = shrink(frame.image, self._max_width)
                yield Picture(image, last_s, time.monotonic(), (time.perf_counter() - started) * 1e3)
                started = time.perf_counter()

    def summary(self) -> str | None:
        """A generated scene has no defects."""
        return None

    def close(self) -> None:
        """Do nothing: nothing is held open."""


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

    @property
    def finite(self) -> bool:
        return self._reader.finite

    @property
    def bursts_from_s(self) -> float | None:
        return self._reader.bursts_from_s

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
