"""Small videos, made for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import numpy as np

from serving.common.tensors import Image

Draw = Callable[[int], Image]


def moving(index: int, width: int = 96, height: int = 64) -> Image:
    """A bright square that moves by two pixels a frame over a gradient."""
    image = np.empty((height, width, 3), np.uint8)
    image[:] = np.linspace(20, 120, width, dtype=np.uint8)[None, :, None]
    left = 2 * index % (width - 16)
    image[16:40, left : left + 16] = (240, 200, 40)
    return image


def make_clip(
    path: Path, frames: int = 24, fps: int = 12, codec: str = "libx264", keyframe_every: int = 12, draw: Draw = moving
) -> Path:
    """Write a video of ``draw``'s images; returns ``path``."""
    with av.open(str(path), "w") as container:
        height, width = draw(0).shape[:2]
        stream = container.add_stream(codec, rate=fps, width=width, height=height, pix_fmt="yuv420p")
        stream.codec_context.gop_size = keyframe_every
        for index in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(draw(index), format="bgr24")))
        container.mux(stream.encode(None))
    return path


def make_sound(path: Path) -> Path:
    """Write a file with sound and no video."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=16000)
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        silence.sample_rate = 16000
        container.mux(stream.encode(silence))
        container.mux(stream.encode(None))
    return path
