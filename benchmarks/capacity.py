"""How many cameras two cores hold in ``sluice run``: what a frame takes of the processor, and what a camera of memory.

Three clips play in turn at their own pace as cameras of 768 × 432, and enlarged to 1280 × 720 and 1920 × 1080; five
frames a second are analysed: ``motion`` or ``yolox-nano`` where it is needed, a tracker, and ``vehicle-type``. Frames
are dropped as those of cameras are. Each case runs with a few cameras for a short time, for longer, and with more
cameras: ``processor_ms`` is what another frame takes, without what starting takes, and ``cameras`` are those whose
frames take two cores whole. ``memory_mb`` is what another camera takes. ``decode_ms`` is of the decoder alone, for all
that the camera sends. Last it runs with ``HELD`` of these cameras: ``p99_ms`` from capture to result, and ``in_time``,
the share of the frames within 500 ms, dropped ones counted as late. Both say as much of what the machine did besides
(``load``: processes that wanted a core) as of Sluice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import av
import numpy as np
import yaml

from benchmarks import harness
from benchmarks.tracking_parts.recordings import models
from benchmarks.tracks_video_parts.cases import VIDEOS
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri

CLIPS = ("one-by-one-person-detection.mp4", "car-detection.mp4", "person-bicycle-car-detection.mp4")
SIZES = ((768, 432), (1280, 720), (1920, 1080))
GOALS: Mapping[int, int] = {432: 40, 720: 16, 1080: 8}
"""Cameras, by the height of their pictures."""
FPS, SLO_MS, CORES = 5.0, 500.0, 2
FEW, MORE = 2, 6
SHORT_S, LONG_S, DECODED_S = 15.0, 60.0, 20.0
HELD = 0.7
DROPS = "drop_oldest"
DETECTORS: Mapping[str, Mapping[str, Any]] = {
    "motion": {"model": "motion"},
    "yolox-nano": {"model": "yolox-nano", "when": "needed", "labels": ["person", "bicycle", "car", "bus", "truck"]},
}


@dataclass(frozen=True)
class Played:
    """One run."""

    frames: int
    processor_s: float
    memory_mb: float
    p99_ms: float
    in_time: float


def enlarged(clip: Path, folder: Path, width: int, height: int) -> Path:
    """The clip in another size; as it is where it has that size."""
    path = folder / f"{clip.stem}-{height}.mp4"
    with av.open(str(clip)) as source, av.open(str(path), "w") as copy:
        shown = source.streams.video[0]
        if (shown.width, shown.height) == (width, height):
            return clip
        stream = copy.add_stream("libx264", rate=shown.average_rate, options={"crf": "24", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for frame in source.decode(shown):
            scaled = frame.reformat(width, height, "yuv420p")
            scaled.pict_type = 0
            copy.mux(stream.encode(scaled))
        copy.mux(stream.encode())
    return path


def query(detector: str, clips: Sequence[Path], cameras: int) -> dict[str, Any]:
    """As many cameras as are wanted, which play the clips in turn."""
    streams = [
        {
            "id": f"cam{number}",
            "uri": str(clips[number % len(clips)]),
            "sample": {"fps": FPS},
            "overload": "drop_oldest",
        }
        for number in range(cameras)
    ]
    nodes = [
        {"name": "detect", "task": "detect", **DETECTORS[detector]},
        {"name": "track", "task": "track", "input": "detect"},
        {"name": "type", "task": "recognise", "input": "track", "model": "vehicle-type"},
    ]
    return {"version": 1, "name": "capacity", "slo_ms": SLO_MS, "streams": streams, "nodes": nodes}


def played(folder: Path, detector: str, clips: Sequence[Path], cameras: int, length_s: float) -> Played:
    """One run in a process of its own, in real time."""
    written, out = folder / "query.yaml", folder / "results.jsonl"
    written.write_text(yaml.safe_dump(query(detector, clips, cameras)))
    options = ("--loop", "--limit", str(round(FPS * length_s)), "--models", str(folder / "models"))
    run = (sys.executable, "-m", "benchmarks.run_parts.at_own_pace", "run", str(written), *options, "--out", str(out))
    process = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"a run with {cameras} cameras ended with {process.returncode}")
    plans = [(each["outcome"], each["plan"]["latency_ms"]) for each in map(json.loads, out.open())]
    late = [latency_ms for outcome, latency_ms in plans if outcome == "analysed"]
    in_time = sum(latency_ms <= SLO_MS for latency_ms in late) / len(plans)
    p99_ms = float(np.quantile(late, 0.99))
    return Played(len(plans), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, p99_ms, in_time)


def decode_ms(clips: Sequence[Path]) -> float:
    """Processor time of the decoder for one frame that is analysed, mean of the clips."""
    frames, started_s = 0, time.process_time()
    for clip in clips:
        with closing(open_source(SourceUri(str(clip)), Sampling("fps", FPS), None)) as source:
            frames += sum(1 for picture in source.pictures() if picture.media_time_s <= DECODED_S)
    return 1000 * (time.process_time() - started_s) / frames


def row(folder: Path, detector: str, size: tuple[int, int], quick: bool) -> dict[str, Any]:
    """Measure one case."""
    clips = [enlarged((VIDEOS / name).resolve(), folder, *size) for name in CLIPS]
    play = partial(played, folder, detector, clips)
    long_s = 8.0 if quick else LONG_S
    short, few, more = play(FEW, 4.0 if quick else SHORT_S), play(FEW, long_s), play(MORE, long_s)
    processor_ms = 1000 * (more.processor_s - short.processor_s) / (more.frames - short.frames)
    cameras = 1000 * CORES / (processor_ms * FPS)
    decoding_ms = decode_ms(clips)
    held = ceil(HELD * cameras)
    full = few if quick else play(held, long_s)
    return {
        "detector": detector,
        "width": size[0],
        "height": size[1],
        "processor_ms": round(processor_ms, 2),
        "cameras": round(cameras, 1),
        "goal": GOALS[size[1]],
        "memory_mb": round((more.memory_mb - few.memory_mb) / (MORE - FEW), 1),
        "decode_ms": round(decoding_ms, 2),
        "decode_share": round(decoding_ms / processor_ms, 3),
        "held": FEW if quick else held,
        "p99_ms": round(full.p99_ms, 1),
        "in_time": round(full.in_time, 4),
        "load": round(os.getloadavg()[0], 1),
    }


def measure(quick: bool) -> harness.Outcome:
    """All cases; ``quick``: the smallest pictures with motion, for seconds."""
    cases = [(detector, size) for size in SIZES for detector in DETECTORS][: 1 if quick else None]
    rows = []
    with tempfile.TemporaryDirectory(prefix="sluice-capacity-") as scratch:
        models("yolox-nano", Path(scratch) / "models")
        for detector, size in cases:
            rows.append(row(Path(scratch), detector, size, quick))
            print(json.dumps(rows[-1]), flush=True)
    found = {f"{each['detector']}_{each['height']}_cameras": each["cameras"] for each in rows}
    return harness.Outcome(rows, found, partial(draw, rows))


def draw(rows: Sequence[Mapping[str, Any]], figure: Any) -> None:
    """Cameras by size beside the goal, and what a frame takes, with the decoder's part."""
    left, right = figure.subplots(1, 2)
    names = [f"{each['detector']}\n{each['width']} × {each['height']}" for each in rows]
    places = np.arange(len(rows))
    left.bar(places - 0.2, [each["cameras"] for each in rows], 0.4, label="by processor time")
    left.bar(places + 0.2, [each["goal"] for each in rows], 0.4, label="goal", color="lightgrey")
    left.set_ylabel(f"cameras at {FPS:g} fps on {CORES} cores")
    right.bar(places, [each["processor_ms"] for each in rows], 0.6, label="all")
    right.bar(places, [each["decode_ms"] for each in rows], 0.6, label="decoder")
    right.set_ylabel("processor time of a frame, ms")
    for axes in (left, right):
        axes.set_xticks(places, names, fontsize=7, rotation=30)
        axes.legend(fontsize=8)


if __name__ == "__main__":
    harness.run("capacity", measure, __doc__ or "")
