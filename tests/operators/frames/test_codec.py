"""Frames on and off the wire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import cv2
import msgspec
import numpy as np
import pytest

from operators.frames.codec import (
    FrameError,
    as_jpeg,
    decode_frame,
    dropped_header,
    encode_frame,
    read_header,
)
from operators.frames.frame import Frame, frame_of
from operators.frames.planes import bytes_of
from operators.wire.schema import FrameHeader, FrameId, from_json, to_json


@pytest.fixture
def frame() -> Frame:
    image = np.zeros((48, 64, 3), np.uint8)
    image[:, :32] = (255, 0, 0)
    return frame_of(FrameId("camera", "run-1", 7), image, 0.28, datetime(2024, 5, 1, tzinfo=UTC), decode_ms=1.5)


def raw(frame: Frame) -> tuple[FrameHeader, bytes]:
    """As a producer that is not ours may send it."""
    return frame.header, bytes(bytes_of(frame.pixels))


def test_raw_frames_come_back_as_they_were(frame: Frame) -> None:
    back = decode_frame(*raw(frame))
    assert np.array_equal(back.image, frame.image)
    assert (back.stream, back.run, back.seq, back.media_time_s) == ("camera", "run-1", 7, 0.28)
    assert (back.captured_at, back.header.decode_ms) == (frame.captured_at, 1.5)


def test_raw_frames_are_neither_copied_nor_to_be_changed(frame: Frame) -> None:
    header, data = raw(frame)
    image = decode_frame(header, data).image
    assert np.shares_memory(image, np.frombuffer(data, np.uint8))
    assert not image.flags.writeable


def test_times_of_a_frame_are_brought_within_the_bounds_of_messages() -> None:
    odd = frame_of(FrameId("camera", "run-1", 7), np.zeros((8, 16, 3), np.uint8), 1e300, decode_ms=float("nan"))
    assert (odd.width, odd.height) == (16, 8)
    assert from_json(to_json(odd.header), FrameHeader) == odd.header


def test_a_dropped_frame_keeps_its_header_but_for_the_image(frame: Frame) -> None:
    dropped = dropped_header(frame, "x" * 5000)
    assert (dropped.id, dropped.info, dropped.encoding) == (frame.header.id, frame.header.info, "none")
    assert from_json(to_json(dropped), FrameHeader) == dropped


def test_jpeg_frames_come_back_much_the_same(frame: Frame) -> None:
    header, data = encode_frame(frame)
    assert len(data) < frame.image.nbytes / 4
    difference = np.abs(decode_frame(header, data).image.astype(int) - frame.image)
    assert difference.mean() < 2


@pytest.mark.parametrize("encoded", [encode_frame, raw])
def test_the_header_survives_the_wire(frame: Frame, encoded: Callable[[Frame], tuple[FrameHeader, bytes]]) -> None:
    header, _ = encoded(frame)
    assert read_header([("traceparent", b"x"), ("frame", to_json(header))]) == header


@pytest.mark.parametrize(
    ("headers", "reason", "message"),
    [
        ([], "bad_header", "no header 'frame'"),
        ([("frame", b"\xff\x00")], "bad_header", "is wrong"),
        ([("frame", b"{}")], "bad_header", "missing required field"),
        ([("frame", b'{"schema": "sluice.frame/2"}')], "wrong_schema", "'sluice.frame/2', this worker reads"),
        ([("frame", b'{"schema": 3}')], "bad_header", "is wrong"),
    ],
)
def test_a_bad_header_has_its_reason(headers: list[tuple[str, bytes]], reason: str, message: str) -> None:
    with pytest.raises(FrameError, match=message) as caught:
        read_header(headers)
    assert caught.value.reason == reason


@pytest.mark.parametrize("change", [{"seq": -1}, {"width": 0}, {"height": -5}])
def test_impossible_numbers_are_refused(frame: Frame, change: dict[str, int]) -> None:
    header = msgspec.structs.replace(raw(frame)[0], **change)
    with pytest.raises(FrameError, match="the header 'frame' is wrong: Expected `int` >="):
        read_header([("frame", to_json(header))])


def jpeg_that_claims(data: bytes, width: int, height: int) -> bytes:
    at = data.index(b"\xff\xc0")
    return data[: at + 5] + height.to_bytes(2) + width.to_bytes(2) + data[at + 9 :]


def test_a_gigantic_claim_is_refused_before_decoding(frame: Frame) -> None:
    header, data = encode_frame(frame)
    header = msgspec.structs.replace(header, width=65_500, height=65_500)
    with pytest.raises(FrameError, match="65500×65500") as caught:
        decode_frame(header, jpeg_that_claims(data, 65_500, 65_500))
    assert caught.value.reason == "image_too_large"


def test_a_jpeg_of_hundreds_of_scans_is_refused_before_decoding(frame: Frame) -> None:
    header, _ = encode_frame(frame)
    data = bytes(cv2.imencode(".jpg", frame.image, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1])
    assert decode_frame(header, data).image.shape == frame.image.shape
    last = data[data.rindex(b"\xff\xda") : -2]
    with pytest.raises(FrameError, match="610 scans") as caught:
        decode_frame(header, data[:-2] + 600 * last + data[-2:])
    assert caught.value.reason == "image_too_large"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: b"", "undecodable_image"),
        (lambda data: b"\x89PNG" + data, "undecodable_image"),
        (lambda data: data[: len(data) * 2 // 3], "undecodable_image"),
        (lambda data: jpeg_that_claims(data, 32, 48), "bad_header"),
    ],
)
def test_a_spoilt_jpeg_has_its_reason(frame: Frame, spoil: object, reason: str) -> None:
    header, data = encode_frame(frame)
    with pytest.raises(FrameError) as caught:
        decode_frame(header, spoil(data))  # type: ignore[operator]
    assert caught.value.reason == reason


def test_raw_bytes_of_another_size_are_refused(frame: Frame) -> None:
    header, data = raw(frame)
    with pytest.raises(FrameError, match="9215 bytes are no 64×48 bgr24 image of 9216"):
        decode_frame(header, data[:-1])


def test_a_header_without_image_is_no_frame(frame: Frame) -> None:
    header: FrameHeader = msgspec.structs.replace(raw(frame)[0], encoding="none")
    with pytest.raises(FrameError):
        decode_frame(header, b"")


def test_a_frame_that_is_kept_looks_as_its_jpeg_does(frame: Frame) -> None:
    noisy = frame_of(frame.header.id, np.random.default_rng(1).integers(0, 255, (48, 64, 3), np.uint8))
    kept = as_jpeg(noisy)
    assert kept.jpeg is not None
    assert not np.array_equal(kept.image, noisy.image)
    again = decode_frame(msgspec.structs.replace(kept.header, encoding="jpeg"), kept.jpeg)
    assert np.array_equal(again.image, kept.image)
    assert again.jpeg == kept.jpeg
