"""A clip played again and again, its packets copied as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av


def looped(folder: Path, clip: Path, duration_s: float) -> Path:
    """Write the clip's video for at least so long; returns the file."""
    path, shift = folder / f"{clip.stem}-{duration_s:.0f}s.mp4", 0
    with av.open(str(clip)) as first, av.open(str(path), "w") as copy:
        stream = copy.add_stream_from_template(first.streams.video[0])
        wanted = duration_s / float(first.streams.video[0].time_base)
        while shift < wanted:
            shift = _append(clip, copy, stream, shift)
    return path


def _append(clip: Path, copy: Any, stream: Any, shift: int) -> int:
    """Copy all packets, this much later; returns where the next copy begins."""
    end = shift
    with av.open(str(clip)) as source:
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is None or packet.pts is None:
                continue
            packet.pts, packet.dts, packet.stream = packet.pts + shift, packet.dts + shift, stream
            end = max(end, packet.pts + (packet.duration or 1))
            copy.mux(packet)
    return end
