"""Reads a JPEG's size, its scans, and whether its end is there, without decoding it."""

from __future__ import annotations

from dataclasses import dataclass

_START_OF_SCAN = 0xDA
_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # less Huffman tables, extensions, arithmetic conditioning


@dataclass(frozen=True, slots=True)
class JpegInfo:
    """Pixels by the frame header; ``complete`` where the end-of-image marker follows the first scan."""

    width: int
    height: int
    complete: bool
    scans: int
    """At least as many as a decoder will find: also counted are the marker's two bytes where they are other data."""


def inspect_jpeg(data: bytes) -> JpegInfo:
    """Read the markers up to the first scan (ITU-T T.81, annex B); raises ``ValueError`` where it is no JPEG."""
    if data[:2] != b"\xff\xd8":
        raise ValueError("no JPEG start marker")
    width = height = 0
    at = 2
    while True:
        marker, length = _segment(data, at)
        if marker in _START_OF_FRAME:
            height = int.from_bytes(data[at + 5 : at + 7])
            width = int.from_bytes(data[at + 7 : at + 9])
        if marker == _START_OF_SCAN:
            break
        at += 2 + length
    if not (width and height):
        raise ValueError("no image size before the first scan")
    # Inside a scan every 0xFF is followed by 0x00 or a restart marker, so these two bytes end an image.
    complete = data.find(b"\xff\xd9", at + 2 + length) >= 0
    return JpegInfo(width, height, complete, scans=data.count(b"\xff\xda", at))


def _segment(data: bytes, at: int) -> tuple[int, int]:
    """The marker at a position and the bytes after it that belong to it."""
    header = data[at : at + 4]
    if len(header) < 4 or header[0] != 0xFF:
        raise ValueError(f"no JPEG marker at byte {at}")
    if header[1] in _WITHOUT_LENGTH:
        return header[1], 0
    length = int.from_bytes(header[2:4])
    if length < 2:
        raise ValueError(f"a JPEG segment of {length} bytes at byte {at}")
    return header[1], length
