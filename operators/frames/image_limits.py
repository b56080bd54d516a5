"""How large a picture may be, for every reader of pictures. Pure."""

from __future__ import annotations

MAX_PIXELS = 64_000_000
"""The largest picture that is decoded at all: 8K with room to spare."""
MAX_ASPECT = 4
"""Largest ratio of a frame's height to its greatest width: portraits fit, strips are scaled down."""
MAX_SCANS = 64
"""Largest number of scans of one JPEG; encoders write one to about twenty."""
MAX_SCANNED_PIXELS = 4 * MAX_PIXELS
"""Largest product of pixels and scans of a JPEG, since a decoder goes over the whole picture for each scan."""

DECODED_BYTES_PER_PIXEL = 3
"""Blue, green and red."""
DECODING_BYTES_PER_PIXEL = 9
"""Bytes per pixel that the coefficients of a progressive JPEG take while it is decoded, besides the pixels."""


def fitted(width: int, height: int, max_width: int | None) -> tuple[int, int]:
    """The size scaled down to ``max_width`` pixels and ``MAX_ASPECT`` times its height, same aspect."""
    if max_width is None:
        return width, height
    scale = min(1.0, max_width / width, MAX_ASPECT * max_width / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def size_fault(width: int, height: int, max_width: int | None = None) -> str | None:
    """Return why a picture of this size is not decoded; None if it may be."""
    if width * height > MAX_PIXELS:
        return f"it claims {width}×{height} pixels, beyond {MAX_PIXELS // 10**6} megapixels"
    if fitted(width, height, max_width) != (width, height):
        return f"its {width}×{height} pixels are more than a max_width of {max_width} allows"
    return None


def scan_fault(width: int, height: int, scans: int) -> str | None:
    """Return why a JPEG of so many scans is not decoded; None if it may be."""
    if scans > MAX_SCANS:
        return f"it has {scans} scans, beyond {MAX_SCANS}"
    if width * height * scans > MAX_SCANNED_PIXELS:
        return f"it has {scans} scans of {width}×{height} pixels, beyond {MAX_SCANNED_PIXELS // 10**6} megapixels"
    return None
