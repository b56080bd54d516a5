"""A clip played again and again, its packets copied as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av


def looped(folder: Path, clip: Path, duration_s: float) -> Path:
    """Write the clip's video for at least so long; returns the file."""
    path, shift = folder / f"{clip.stem}-{duration_s:.0f}s.mp4", 0
    packets = _packets(clip)
    first, last = packets[0].dts, packets[-1].dts
    # A round's packets are decoded after those of the round before, though some of them were shown later.
    length = max(max(packet.pts + (packet.duration or 1) for packet in packets), last + 1 - first)
    with av.open(str(clip)) as source, av.open(str(path), "w") as copy:
        stream = copy.add_stream_from_template(source.streams.video[0])
        wanted = duration_s / float(source.streams.video[0].time_base)
        while shift < wanted:
            for packet in _packets(clip):
                packet.pts, packet.dts, packet.stream = packet.pts + shift, packet.dts + shift, stream
                copy.mux(packet)
            shift += length
    return path


def _packets(clip: Path) -> list[Any]:
    with av.open(str(clip)) as source:
        return [each for each in source.demux(source.streams.video[0]) if each.dts is not None and each.pts is not None]
