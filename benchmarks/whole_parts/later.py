"""A video that begins some frames later, its pixels as they are."""

from __future__ import annotations

from pathlib import Path

import av


def begun_later(folder: Path, video: Path, skipped: int, frames: int) -> Path:
    """Write so many frames after the skipped ones without loss; returns the file."""
    path = folder / f"{video.stem}-later.mp4"
    with av.open(str(video)) as source, av.open(str(path), "w") as copy:
        given = source.streams.video[0]
        stream = copy.add_stream("libx264", rate=given.average_rate, options={"qp": "0", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = given.width, given.height, given.pix_fmt or "yuv420p"
        stream.time_base = stream.codec_context.time_base = given.time_base
        first: int | None = None
        for number, frame in enumerate(source.decode(given)):
            if not skipped <= number < skipped + frames or frame.pts is None:
                continue
            first = frame.pts if first is None else first
            frame.pts, frame.pict_type = frame.pts - first, av.video.frame.PictureType.NONE
            copy.mux(stream.encode(frame))
        copy.mux(stream.encode())
    return path
