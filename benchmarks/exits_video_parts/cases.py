"""What is shown: generated streets of twenty minutes and the real clips, each once; and the query about them.

``python -m benchmarks.exits_video_parts.cases`` draws the streets that are missing, about a minute each. They are kept
under ``.cache``, as are parts of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import av

from benchmarks.tracks_video_parts.cases import CLIPS, VIDEOS
from datasets.street import open_street
from datasets.video import write_mp4

CACHE = Path(__file__).parents[2] / ".cache" / "exits-video"
SEEDS = (31, 32, 33, 34)
STREET_S, FPS = 1200.0, 5.0
QUALITY, PRESET = 23, "veryfast"
NODE, LEAST_AREA = "type", 0.002
MOTION, NANO = "motion", "yolox-nano"
DETECTORS: Mapping[str, Mapping[str, Any]] = {
    MOTION: {"model": MOTION},
    NANO: {"model": NANO, "min_confidence": 0.3, "when": "needed"},
}


@dataclass(frozen=True)
class Case:
    """A recording, five of whose frames are analysed in a second."""

    name: str
    video: Path
    """A street's is drawn when ``source`` is first called."""
    frames: int
    """So many are analysed, of a clip about so many."""
    detector: str
    """It is shown with the boxes of this one; ``NANO`` needs a directory of models that holds it."""
    street: Mapping[str, str] | None = None
    """The options of the street that it is; None: a clip."""

    def source(self) -> str:
        """The URI for ``sluice run``."""
        if self.street is not None and not self.video.exists():
            _draw(self.video, self.street)
        return str(self.video.resolve())

    def part(self, begin_s: float, end_s: float) -> Case:
        """The frames of a street from a whole second on and before another, its pictures as they are."""
        path = self.video.with_stem(f"{self.video.stem}-{begin_s:g}-{end_s:g}")
        if not path.exists():
            _copy(Path(self.source()), path, begin_s, end_s)
        name, frames = f"{self.name}, {begin_s:g} to {end_s:g} s", round((end_s - begin_s) * FPS)
        return replace(self, name=name, video=path, frames=frames, street=None)

    def query(self, recogniser: str, recognise: Mapping[str, Any], keys: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is asked; further keys of the node that recognises, and of the query (as ``accuracy``)."""
        stream = {"id": "camera", "uri": self.source(), "sample": {"fps": FPS}}
        area = f"track[area >= {LEAST_AREA}]"
        return {
            "version": 1,
            "name": "exits-video",
            "slo_ms": 60_000,
            **keys,
            "streams": [stream],
            "nodes": [
                {"name": "detect", "task": "detect", **DETECTORS[self.detector]},
                {"name": "track", "task": "track", "input": "detect"},
                {"name": NODE, "task": "recognise", "input": area, "model": recogniser, **recognise},
            ],
        }


def streets() -> list[Case]:
    """The streets, by day, with everything that moves on one."""
    found = []
    for seed in SEEDS:
        options = {"seed": str(seed), "fps": f"{FPS:g}", "duration_s": f"{STREET_S:g}"}
        video = CACHE / f"street-{seed}-{FPS:g}fps-{STREET_S:g}s.mp4"
        found.append(Case(f"street {seed}", video, round(STREET_S * FPS), MOTION, options))
    return found


def clips() -> list[Case]:
    """The real clips, the longest first."""
    found = [(_length_s(VIDEOS / file), name, VIDEOS / file) for name, file in CLIPS.items()]
    return [Case(name, video, round(length_s * FPS), NANO) for length_s, name, video in sorted(found, reverse=True)]


def _draw(path: Path, options: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    images = (frame.image for frame in open_street(options))
    with TemporaryDirectory(prefix=".drawing-", dir=path.parent) as scratch:
        part = Path(scratch) / path.name
        write_mp4(part, images, FPS, QUALITY, PRESET)
        part.rename(path)


def _copy(video: Path, path: Path, begin_s: float, end_s: float) -> None:
    """Packets as they are; each second of the video begins with a key frame, and none is shown in another order."""
    with TemporaryDirectory(prefix=".cutting-", dir=path.parent) as scratch:
        part = Path(scratch) / path.name
        with av.open(str(video)) as source, av.open(str(part), "w") as copy:
            stream = copy.add_stream_from_template(source.streams.video[0])
            for packet in _between(source, begin_s, end_s):
                packet.stream = stream
                copy.mux(packet)
        part.rename(path)


def _between(source: Any, begin_s: float, end_s: float) -> Iterator[Any]:
    video = source.streams.video[0]
    begin, end = (round(at_s / video.time_base) for at_s in (begin_s, end_s))
    for packet in source.demux(video):
        if packet.pts is not None and begin <= packet.pts < end:
            packet.pts, packet.dts = packet.pts - begin, packet.dts - begin
            yield packet


def _length_s(video: Path) -> float:
    with av.open(str(video)) as container:
        return float((container.duration or 0) / av.time_base)


def main() -> None:
    """Draw the streets that are missing, and tell what there is."""
    for case in streets():
        began_s = time.process_time()
        megabytes = Path(case.source()).stat().st_size / 1e6
        print(f"{case.name}: {case.frames} frames, {megabytes:.0f} MB, {time.process_time() - began_s:.0f} s to draw")
    for case in clips():
        print(f"{case.name}: {case.frames} frames, {case.video}")


if __name__ == "__main__":
    main()
