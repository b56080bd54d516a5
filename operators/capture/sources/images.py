"""A directory of images, read as a stream in the order of their names."""

from __future__ import annotations

import io
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import av
import av.error

from operators.capture.picture import Picture
from operators.capture.sources.convert import Converter
from operators.capture.sources.failures import explained
from operators.capture.sources.sampling import Sampler, Sampling
from operators.capture.sources.uri import IMAGE_SUFFIXES, SourceUri
from operators.frames.codec import MAX_PIXELS
from serving.common.tensors import Image
from serving.errors import SourceError

IMAGES_PER_SECOND: Final = 10.0
"""The rate by which images, which have no time of their own, get their media time."""

LARGEST_BYTES: Final = 4 * MAX_PIXELS
"""Bytes of an image's file that are read."""
_OPTIONS: Final = {
    "max_pixels": str(MAX_PIXELS),
    "err_detect": "explode",  # half an image is an error, not a grey lower half
    # a file named .jpg that is really a playlist must not make us open what it names
    "format_whitelist": "jpeg_pipe,png_pipe,bmp_pipe,webp_pipe",
}

log = logging.getLogger(__name__)


def is_image(path: Path) -> bool:
    """Whether the name is that of a readable kind of image."""
    return path.suffix.lower() in IMAGE_SUFFIXES


def natural_order(path: Path) -> list[tuple[int, str]]:
    """Sort key by which ``frame9`` comes before ``frame10``."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path.name.lower())]


class ImageReader:
    """The images of a directory, or one image; damaged images are skipped and counted."""

    def __init__(self, uri: SourceUri, sampling: Sampling, max_width: int | None = None) -> None:
        self._uri = uri
        self._sampling = sampling
        self._converter = Converter(max_width)
        with explained(uri):
            entries = list(uri.path.iterdir()) if uri.path.is_dir() else [uri.path]
        self._paths = sorted((path for path in entries if is_image(path)), key=natural_order)
        self._refused: list[str] = []
        if not self._paths:
            kinds = " ".join(sorted(IMAGE_SUFFIXES))
            raise SourceError(f"{uri}: no images in this directory ({kinds})", "empty")

    @property
    def interval_s(self) -> float:
        return 1.0 / IMAGES_PER_SECOND

    @property
    def duration_s(self) -> float:
        return len(self._paths) * self.interval_s

    def pictures(self) -> Iterator[Picture]:
        sampler = Sampler(self._sampling)
        decoded = 0
        for index, path in enumerate(self._paths):
            if not sampler.takes(index * self.interval_s):
                continue
            started = time.perf_counter()
            image = self._read(path)
            if image is not None:
                decoded += 1
                yield Picture(image, index * self.interval_s, time.monotonic(), (time.perf_counter() - started) * 1e3)
        if not decoded:
            raise SourceError(f"{self._uri}: {self.summary()}", "corrupt")

    def summary(self) -> str | None:
        """Return how many images were refused and why the first was; None if all are sound."""
        if not self._refused:
            return None
        return f"{len(self._refused)} of {len(self._paths)} images could not be read; {self._refused[0]}"

    def close(self) -> None:
        """Do nothing: no file stays open between images."""

    def _read(self, path: Path) -> Image | None:
        try:
            data = _load(path)
            return decode_image(data, self._converter)
        except (ValueError, OSError) as error:
            self._refused.append(f"{path.name}: {getattr(error, 'strerror', None) or error}")
            log.warning("%s: image passed over: %s", self._uri, self._refused[-1])
            return None


def decode_image(data: bytes, converter: Converter) -> Image:
    """Decode an image file's content to BGR; ``ValueError`` says what is wrong with it."""
    try:
        with av.open(io.BytesIO(data), options=dict(_OPTIONS)) as container:
            stream: Any = container.streams.video[0]
            context = stream.codec_context
            if context.width * context.height > MAX_PIXELS:
                raise ValueError(f"{context.width}×{context.height} exceeds {MAX_PIXELS // 10**6} megapixels")
            context.options = dict(_OPTIONS)
            for frame in container.decode(stream):
                return converter.bgr(frame)
    except av.error.FFmpegError:
        raise ValueError(f"not an image, damaged, animated, or above {MAX_PIXELS // 10**6} megapixels") from None
    raise ValueError("has no picture in it")


def _load(path: Path) -> bytes:
    size_bytes = path.stat().st_size
    if size_bytes == 0:
        raise ValueError("the file is empty")
    if size_bytes > LARGEST_BYTES:
        raise ValueError(f"{size_bytes} bytes exceed {LARGEST_BYTES}")
    return path.read_bytes()
