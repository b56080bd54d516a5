"""What decoding costs where 5 or 2 of 25 frames a second are sampled, with and without leaving frames out.

A generated street of 1280 × 720 pixels is encoded with groups of pictures of different structure: ``IPPP`` as most
cameras send, in which every frame refers to the one before, and with B-frames as most files have. ``decoded`` is the
share of the frames that the decoder decodes, ``cpu_ms`` processor time for each sampled frame, conversion included,
``ratio`` how much less it is than that of decoding everything. The same frames are sampled either way.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import av

from benchmarks import harness
from datasets.street import open_street
from operators.capture.sources.decode import VideoReader
from operators.capture.sources.frame_times import Discard
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri

STRUCTURES: Mapping[str, Mapping[str, str]] = {
    "IPPP": {"bf": "0"},
    "3 B-frames": {"bf": "3", "x264-params": "b-pyramid=none:b-adapt=0"},
    "pyramid of B-frames": {"bf": "3", "x264-params": "b-pyramid=normal:b-adapt=0"},
}
RATES = (5.0, 2.0)
SECONDS, ROUNDS = 20.0, 5
QUICK_SECONDS, QUICK_ROUNDS = 3.0, 1
FPS = 25


def measure(quick: bool) -> harness.Outcome:
    """One row for each structure and rate."""
    seconds, rounds = (QUICK_SECONDS, QUICK_ROUNDS) if quick else (SECONDS, ROUNDS)
    with tempfile.TemporaryDirectory(prefix="sluice-decoding-") as scratch:
        clips = {name: _encoded(Path(scratch), name, options, seconds) for name, options in STRUCTURES.items()}
        rows = [_row(name, clip, fps, rounds) for name, clip in clips.items() for fps in RATES]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> Mapping[str, Any]:
    """How much less decoding costs, by structure and rate."""
    return {"ratio": {f"{row['structure']}, {row['fps']:g} fps": row["ratio"] for row in rows}}


def _encoded(folder: Path, name: str, options: Mapping[str, str], seconds: float) -> Path:
    path = folder / f"{name}.mp4"
    street = open_street({"seed": "31", "fps": str(FPS), "duration_s": str(seconds), "width": "1280", "height": "720"})
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, width=1280, height=720, pix_fmt="yuv420p")
        stream.options = {"preset": "veryfast", "crf": "24", **options}
        stream.codec_context.gop_size = 2 * FPS
        for frame in street:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame.image, format="bgr24")))
        container.mux(stream.encode(None))
    return path


def _row(name: str, clip: Path, fps: float, rounds: int) -> harness.Row:
    found = harness.interleaved({"all": partial(_all, clip, fps), "needed": partial(_read, clip, fps)}, rounds)
    everything, needed = (median(each[0] for each in found[way]) for way in ("all", "needed"))
    frames, decoded = found["needed"][0][1:]
    return {
        "structure": name,
        "fps": fps,
        "decoded": round(decoded / found["all"][0][2], 3),
        "cpu_ms_all": round(1e3 * everything / frames, 2),
        "cpu_ms": round(1e3 * needed / frames, 2),
        "ratio": round(everything / needed, 3),
    }


def _all(clip: Path, fps: float) -> tuple[float, int, int]:
    with patch.object(Discard, "is_spare", lambda *_: False):
        return _read(clip, fps)


def _read(clip: Path, fps: float) -> tuple[float, int, int]:
    """Processor seconds, sampled frames, decoded frames."""
    started_s = time.process_time()
    with closing(VideoReader(SourceUri(str(clip)), Sampling("fps", fps))) as reader:
        sampled = sum(1 for _ in reader.pictures())
        decoded = reader.decoded
    return time.process_time() - started_s, sampled, decoded


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots()
    names = [f"{row['structure']}\n{row['fps']:g} of {FPS} fps" for row in rows]
    for place, (key, label) in enumerate({"cpu_ms_all": "everything decoded", "cpu_ms": "as needed"}.items()):
        axes.barh([at + 0.35 * place for at in range(len(rows))], [row[key] for row in rows], 0.33, label=label)
    axes.set_yticks([at + 0.17 for at in range(len(rows))], names, fontsize=8)
    axes.set_xlabel("processor time for each sampled frame, ms")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    harness.run("decoding", measure, __doc__ or "")
