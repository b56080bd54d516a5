"""Writes pictures as an MP4 that any camera simulator can loop and any client can enter at each second."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray


def write_mp4(
    path: Path, images: Iterable[NDArray[np.uint8]], fps: float, quality: int = 28, preset: str = "slow"
) -> int:
    """Write images (height × width × 3, blue-green-red, even sides) as H.264; returns how many.

    Baseline profile, 4:2:0, a key frame every second, no B-frames, index at the front: what players, RTSP servers and
    browsers all take. ``quality`` is x264's CRF: smaller is better and larger; ``preset``: how long it searches.
    """
    rate = Fraction(fps).limit_denominator(1000)
    count = 0
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as file:
        stream = None
        for image in images:
            if stream is None:
                stream = file.add_stream("libx264", rate=rate, options=encoder(fps, quality, preset))
                stream.height, stream.width = image.shape[:2]
                stream.pix_fmt = "yuv420p"
            file.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
            count += 1
        if stream is not None:
            file.mux(stream.encode(None))
    return count


def encoder(fps: float, quality: int, preset: str) -> dict[str, str]:
    """x264's options."""
    second = str(max(round(fps), 1))
    return {
        "profile": "baseline",
        "preset": preset,
        "crf": str(quality),
        "g": second,
        "keyint_min": second,
        "sc_threshold": "0",
        "bf": "0",
    }
