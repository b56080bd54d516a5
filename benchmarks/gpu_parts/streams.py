"""Whole runs: so many streams of a clip, as fast as they go, by the GPU or by processors, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

import pipelines.run
from benchmarks.gpu_parts.meters import joules_so_far
from benchmarks.harness import Row
from benchmarks.tracking_parts.recordings import models
from serving.common.precision import Device

CLIP = Path(pipelines.run.__file__).with_name("street.mp4")
DETECTOR = "yolox-nano"
COUNTS, QUICK_COUNTS = (1, 8), (1,)
FRAMES, QUICK_FRAMES = 120, 20
NODES = [
    {"name": "vehicles", "task": "detect", "model": DETECTOR, "labels": ["car", "bus", "truck"]},
    {"name": "type", "task": "recognise", "input": "vehicles", "model": "vehicle-type"},
]


def stream_rows(quick: bool) -> Iterator[Row]:
    """Device × number of streams."""
    for count in QUICK_COUNTS if quick else COUNTS:
        for device in ("cpu", "cuda"):
            yield _row(device, count, QUICK_FRAMES if quick else FRAMES)


def _row(device: Device, count: int, frames: int) -> Row:
    environment = {**os.environ, "SLUICE_DEVICE": device}
    command = [sys.executable, "-m", __name__, str(count), str(frames)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return {"what": "streams", "name": CLIP.name, "way": device, "size": count, **found}


def main(count: int, frames: int) -> None:
    """Run it in this process, and print what it cost."""
    import sluice

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "query.yaml")
        streams = [{"id": f"s{number}", "uri": str(CLIP), "sample": {"fps": 30}} for number in range(count)]
        path.write_text(
            yaml.safe_dump({"name": "gpu", "version": 1, "slo_ms": 1000, "streams": streams, "nodes": NODES})
        )
        run = sluice.run(path, limit=frames, models=[models(DETECTOR, Path(folder, "models"))])
        answered, started_s = 0, 0.0
        for result in run:
            if not started_s:  # networks are loaded by then
                started_s, processor_s, joules = time.perf_counter(), time.process_time(), joules_so_far()
            answered += bool(result.objects is not None)
        elapsed_s, after = time.perf_counter() - started_s, joules_so_far()
        spent = None if joules is None or after is None else round((after - joules) / answered, 5)
        figures = {
            "latency_ms": None,
            "p99_ms": None,
            "items_per_s": round(answered / elapsed_s, 1),
            "processor_ms_per_item": round(1e3 * (time.process_time() - processor_s) / answered, 4),
            "gpu_joules_per_item": spent,
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
