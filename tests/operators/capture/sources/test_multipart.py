"""Multipart JPEG as cameras and recorders write it, however long its parts are said to be."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import cv2
import pytest

from operators.capture.sources.decode import VideoReader
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from tests.operators.capture.clips import moving

FRAMES = 6


def parts(longer: int) -> bytes:
    """Pictures, each of which is said to be longer than it is by so many bytes."""
    jpegs = [cv2.imencode(".jpg", moving(index))[1].tobytes() for index in range(FRAMES)]
    head = b"--next\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n"
    return b"".join(head % (len(jpeg) + longer) + jpeg + b"\r\n" for jpeg in jpegs)


@pytest.mark.parametrize("longer", [0, -5, 50, 10**9])
@pytest.mark.parametrize("end", [b"", b"--next--\r\n", b"--next--\r\nbye\r\n"])
def test_every_picture_comes_whatever_parts_say_of_themselves(tmp_path: Path, longer: int, end: bytes) -> None:
    clip = tmp_path / "a.mjpg"
    clip.write_bytes(parts(longer) + end)
    with closing(VideoReader(SourceUri(str(clip)), Sampling())) as reader:
        assert len(list(reader.pictures())) == FRAMES
        assert reader.summary() is None
