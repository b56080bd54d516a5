"""Cameras: RTSP servers that play clips of streets, car parks and doors, and the queries that look at them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2

from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from benchmarks.tracks_video_parts.looped import looped
from datasets.video import write_mp4
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from tests.real.rtsp import RtspServer

SHOWN = ("car park", "persons, bicycles, cars", "persons one by one")
FPS = 5.0
SLO_MS = 500.0
NATIVE = (768, 432)
SCALED_S, CRF = 15.0, 26
"""There are no clips of larger cameras: so much of each is scaled up and encoded as ``datasets.video`` does it."""
DECODED = 75
"""Frames of each clip by which decoding alone is measured."""


@dataclass(frozen=True)
class Cameras:
    """Cameras of one size, as many as somebody connects to."""

    uris: Sequence[str]
    decode_ms: float
    """Processor time of decoding alone, by ``sluice``'s own reader, for each frame that is sampled."""

    def query(self, count: int, detect: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look at so many of them: detect, track, and name the type of vehicles."""
        uris = [self.uris[number % len(self.uris)] for number in range(count)]
        streams = [{"id": f"camera-{n}", "uri": uri, "sample": {"fps": FPS}} for n, uri in enumerate(uris)]
        return {
            "version": 1,
            "name": "capacity",
            "slo_ms": SLO_MS,
            "streams": streams,
            "nodes": [
                {"name": "detect", "task": "detect", **detect},
                {"name": "track", "task": "track", "input": "detect"},
                {"name": "type", "task": "recognise", "input": "track[area >= 0.002]", "model": "vehicle-type"},
            ],
        }


@contextmanager
def cameras(folder: Path, size: tuple[int, int], longest_s: float) -> Iterator[Cameras]:
    """Servers that play the clips at this size for at least so long within a connection."""
    clips = [_clip(folder, VIDEOS / CLIPS[name], size) for name in SHOWN]
    decode_ms = sum(map(_decode_ms, clips)) / len(clips)
    with ExitStack() as running:
        servers = [running.enter_context(RtspServer(looped(folder, each, longest_s), loop=False)) for each in clips]
        yield Cameras([each.uri for each in servers], decode_ms)


def _clip(folder: Path, clip: Path, size: tuple[int, int]) -> Path:
    if size == NATIVE:
        return clip
    path = folder / f"{clip.stem}-{size[1]}.mp4"
    with av.open(str(clip)) as source:
        rate = float(source.streams.video[0].average_rate or 12)
    with closing(open_source(SourceUri(str(clip)), Sampling(), None)) as source:
        pictures = islice(source.pictures(), round(SCALED_S * rate))
        images = (cv2.resize(each.image, size, interpolation=cv2.INTER_CUBIC) for each in pictures)
        write_mp4(path, images, rate, CRF, "veryfast")
    return path


def _decode_ms(clip: Path) -> float:
    started_s, frames = time.process_time(), 0
    with closing(open_source(SourceUri(str(clip)), Sampling("fps", FPS), None)) as source:
        frames = sum(1 for _ in islice(source.pictures(), DECODED))
    return (time.process_time() - started_s) * 1000 / frames
