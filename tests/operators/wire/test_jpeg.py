"""Reading a JPEG's size without decoding it."""

from __future__ import annotations

from contextlib import suppress

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.wire.frame_message import JpegInfo, inspect_jpeg


def jpeg(width: int, height: int, *options: int) -> bytes:
    noise = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    return bytes(cv2.imencode(".jpg", noise, list(options))[1])


@given(st.integers(1, 300), st.integers(1, 300))
def test_size_is_what_was_encoded(width: int, height: int) -> None:
    assert inspect_jpeg(jpeg(width, height)) == JpegInfo(width, height, complete=True, scans=1)


def test_progressive_and_restart_markers_are_understood() -> None:
    options = (cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_RST_INTERVAL, 2)
    assert inspect_jpeg(jpeg(64, 48, *options)) == JpegInfo(64, 48, complete=True, scans=10)


def test_bytes_behind_the_end_do_no_harm() -> None:
    assert inspect_jpeg(jpeg(64, 48) + b"\0" * 100).complete


def test_a_thumbnail_is_not_the_image() -> None:
    whole, thumbnail = jpeg(64, 48), jpeg(8, 8)
    embedded = whole[:2] + b"\xff\xe1" + (len(thumbnail) + 2).to_bytes(2) + thumbnail + whole[2:]
    assert inspect_jpeg(embedded) == JpegInfo(64, 48, complete=True, scans=1)
    assert not inspect_jpeg(embedded[: len(embedded) // 2]).complete, "the thumbnail's end is not the image's"


@given(st.integers(1, 1000))
def test_bytes_that_fill_up_before_a_marker_are_passed_over(many: int) -> None:
    whole = jpeg(64, 48)
    for marker in (b"\xff\xe0", b"\xff\xdb", b"\xff\xc0", b"\xff\xda"):
        filled = whole.replace(marker, many * b"\xff" + marker, 1)
        assert inspect_jpeg(filled) == JpegInfo(64, 48, complete=True, scans=1)
        assert cv2.imdecode(np.frombuffer(filled, np.uint8), cv2.IMREAD_COLOR).shape == (48, 64, 3)


@given(st.integers(0, 100))
def test_every_scan_counts_however_many(more: int) -> None:
    whole = jpeg(64, 48, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
    last = whole[whole.rindex(b"\xff\xda") : -2]
    assert inspect_jpeg(whole[:-2] + more * last + whole[-2:]).scans == 10 + more


@given(st.integers(0, 100))
def test_a_cut_is_seen_wherever_it_is(percent: int) -> None:
    whole = jpeg(64, 48)
    part = whole[: (len(whole) - 1) * percent // 100]
    with suppress(ValueError):  # cut before the first scan: no image at all
        assert not inspect_jpeg(part).complete


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_and_never_loop(data: bytes) -> None:
    for start in (b"", b"\xff\xd8", b"\xff\xd8\xff"):
        with pytest.raises(ValueError, match=r"JPEG|image size"):
            inspect_jpeg(start + data)
