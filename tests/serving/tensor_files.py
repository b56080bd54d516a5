"""Safetensors that no writer of ours makes, byte by byte."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence


def tensor_file(header: object, data: bytes = b"") -> bytes:
    """A file with this header, whatever it says."""
    words = json.dumps(header).encode()
    return struct.pack("<Q", len(words)) + words + data


def one(dtype: str, shape: Sequence[int], count: int) -> bytes:
    """A file with one tensor, which claims to have so many bytes and has them."""
    return tensor_file({"weights": {"dtype": dtype, "shape": shape, "data_offsets": [0, count]}}, bytes(count))


ODD: Mapping[str, bytes] = {
    "bfloat16": one("BF16", [2, 3], 12),
    "float8": one("F8_E4M3", [2, 3], 6),
    "float4": one("F4", [2, 3], 3),
    "no type": one("F\n\x1b[31m32", [2, 3], 24),
    "70 dimensions": one("F32", [1] * 70, 4),
    "none of 2^62": one("F32", [2**62, 0], 0),
    "2^128": one("F32", [2**64 - 1, 2**64 - 1], 0),
    "negative": one("F32", [-2, -3], 24),
    "more than there is": one("F32", [1 << 20, 1 << 20], 24),
    "overlapping": tensor_file(
        {each: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for each in ("weights", "bias")}, bytes(4)
    ),
    "a header cut off": one("F32", [2, 3], 24)[:20],
    "a header of 2^60 bytes": struct.pack("<Q", 1 << 60) + b"{}",
    "nested": struct.pack("<Q", 1 << 16) + b"[" * (1 << 16),
    "another header": tensor_file([1, 2]),
    "data cut off": one("F32", [2, 3], 24)[:-5],
    "empty": b"",
    "garbage": b"\x80\x04K\x01.",
}
