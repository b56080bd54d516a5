"""How FFmpeg is to open a source: its address, its protocol's options, the largest frame."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial
from typing import Any

import av
from av.codec.hwaccel import HWAccel

from operators.capture.sources.failures import explained
from operators.capture.sources.uri import SourceUri
from operators.frames.codec import MAX_PIXELS
from serving.errors import SourceError


def how_to_open(
    uri: SourceUri, timeout_s: tuple[float | None, float | None], jpegs: bool = False
) -> Callable[[HWAccel | None], Any]:
    """Opens the source, with a device or without one. ``timeout_s``: until it is open, and between its packets.

    ``jpegs``: it is read as one JPEG after the other, whatever stands between them.
    """
    opens: Any = partial(av.open, timeout=timeout_s, metadata_errors="replace", **_arguments(uri, jpegs))
    return lambda hwaccel: opens(hwaccel=hwaccel)


def _arguments(uri: SourceUri, jpegs: bool) -> dict[str, Any]:
    # max_pixels binds the decoders themselves: probing decodes frames before we see their size
    options = {"max_pixels": str(MAX_PIXELS)}
    kind = "mjpeg" if jpegs else None
    if uri.kind == "path":
        _check_file(uri)
        # absolute, so that FFmpeg does not read a protocol into a name with a colon
        return {"file": os.path.abspath(uri.path), "options": options, "format": kind}
    if uri.kind == "v4l2":
        return {"file": uri.device, "format": "v4l2", "options": options}
    if uri.kind == "rtsp":
        # TCP where the camera has it: over UDP, FFmpeg's default, every lost packet smears the picture.
        options |= {"rtsp_flags": "prefer_tcp"}
    if uri.kind == "rtsp" or jpegs:
        # no probing of the frame rate: frames that come while it lasts would all arrive late
        options |= {"fpsprobesize": "0"}
    return {"file": uri.reveal_to_ffmpeg(), "options": options, "format": kind}


def _check_file(uri: SourceUri) -> None:
    with explained(uri):
        status = os.stat(uri.path)
        if stat.S_ISREG(status.st_mode):
            os.close(os.open(uri.path, os.O_RDONLY))
    if not stat.S_ISREG(status.st_mode):
        hint = "; for a camera say v4l2:0" if stat.S_ISCHR(status.st_mode) else ""
        raise SourceError(f"{uri}: not a file{hint}", "unreadable")
    if status.st_size == 0:
        raise SourceError(f"{uri}: the file is empty", "empty")
