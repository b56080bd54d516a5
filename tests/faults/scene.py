"""What the fault tests work on: a small clip in which things move, and a query that needs no models."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np

FPS = 25
WIDTH, HEIGHT = 320, 240


def write_clip(path: Path, seconds: float = 8.0) -> Path:
    """Two bright boxes cross a grey picture; H.264, a keyframe each second."""
    rng = np.random.default_rng(7)
    ground = rng.integers(90, 110, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    with av.open(str(path), "w") as output:
        stream = output.add_stream("h264", rate=FPS, options={"g": str(FPS), "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(round(seconds * FPS)):
            image = ground.copy()
            for row, speed in ((40, 2), (150, 3)):
                left = (number * speed) % (WIDTH - 40)
                image[row : row + 40, left : left + 40] = 240
            output.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        output.mux(stream.encode(None))
    return path


def write_query(path: Path, prefix: str, streams: dict[str, str]) -> Path:
    """Motion and tracks on the given streams (uri by id), on topics and in a consumer group of the test's own.

    All streams together give ``FPS`` frames a second, however many they are: slow machines keep up.
    """
    sample = f"sample: {{fps: {FPS / len(streams):g}}}"
    lines = [
        "version: 1",
        f"name: {prefix.strip('.')}",
        "slo_ms: 1000",
        f"publish: {{topics: {{prefix: {prefix}}}}}",
        "nodes:",
        "  - {name: detect, task: detect, model: motion}",
        "  - {name: track, task: track, input: detect}",
        "streams:",
        *(f'  - {{id: {name}, uri: "{uri}", {sample}, overload: block}}' for name, uri in streams.items()),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path
