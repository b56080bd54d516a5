"""Where annotated pictures go, by stream; apart from what draws them, which brings OpenCV and FFmpeg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

VIDEO_SUFFIXES = {".mp4": "mp4", ".mkv": "matroska", ".mov": "mov"}
"""And what FFmpeg calls them."""


def of_streams(target: Path, streams: Sequence[str]) -> Mapping[str, Path]:
    """The video or directory that each stream's pictures go to: of several streams each has a video of its own."""
    if len(streams) < 2 or target.is_dir() or target.suffix.lower() not in VIDEO_SUFFIXES:
        return dict.fromkeys(streams, target)
    return {stream: target.with_name(f"{target.stem}-{stream}{target.suffix}") for stream in streams}
