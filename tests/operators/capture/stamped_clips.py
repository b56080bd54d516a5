"""Videos whose containers say odd things of time; the truth about each is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from tests.operators.capture.clips import moving

FPS = 10
TICKS = 90_000


def write(
    path: Path,
    shown_s: Sequence[float],
    *,
    codec: str = "libx264",
    b_frames: int = 0,
    start_s: float = 0.0,
    container: str | None = None,
    change: Callable[[Any], None] = lambda packet: None,
    fps: int = FPS,
    gop: str = "keyint=20",
) -> Path:
    """A video of frames shown at these times, the container's clock beginning at ``start_s``.

    ``change`` may spoil each packet before it is written; ``gop``: options of x264. B-frames are arranged in a
    pyramid, so that packets are stored far from their turn.
    """
    options = {"x264-params": f"bframes={b_frames}:b-adapt=0:b-pyramid=normal:{gop}"} if codec == "libx264" else {}
    with av.open(str(path), "w", format=container) as target:
        stream = target.add_stream(codec, rate=fps, width=96, height=64, options=options)
        stream.pix_fmt = {"mjpeg": "yuvj420p", "gif": "rgb8"}.get(codec, "yuv420p")  # type: ignore[attr-defined]
        stream.codec_context.time_base = base = Fraction(
            1, {".avi": fps, ".h264": fps, ".gif": 100}.get(path.suffix, TICKS)
        )
        for packet in _packets(stream, [start_s + second for second in shown_s], base):
            change(packet)
            target.mux(packet)
    return path


def _packets(stream: Any, shown_s: Sequence[float], base: Fraction) -> Iterator[Any]:
    for index, second in enumerate(shown_s):
        frame = av.VideoFrame.from_ndarray(moving(index), format="bgr24")
        frame.pts, frame.time_base = round(second / base), base
        yield from stream.encode(frame)
    yield from stream.encode(None)


def steadily(count: int, fps: float = FPS) -> list[float]:
    """When the frames of a steady stream are shown."""
    return [index / fps for index in range(count)]


def joined(path: Path, parts: Sequence[Path]) -> Path:
    """One file after the other, as transport streams may be joined."""
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path
