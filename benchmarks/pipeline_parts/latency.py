"""One stream at a camera's rate: how long results take beyond what the nodes take."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks import harness
from benchmarks.pipeline_parts.runs import (
    Kafka,
    Load,
    alone,
    capture,
    create_topics,
    read_beyond_ms,
    run_local,
    run_worker_on,
)
from benchmarks.pipeline_parts.workload import at_rate


def beyond_nodes(
    clip: Path, fps: int, frames: int, bootstrap: str, rounds: int
) -> Mapping[str, Sequence[Sequence[float]]]:
    """By transport and round, each frame's milliseconds beyond its nodes; NaN for a dropped frame."""
    with tempfile.TemporaryDirectory() as scratch:
        load = Load(at_rate(clip, fps, Path(scratch, f"camera{clip.suffix}")), 1, frames, realtime=True)
        variants = {
            "run": partial(_local, load),
            "kafka://": partial(_kafka, load, bootstrap, Path(scratch)),
        }
        return harness.interleaved(variants, rounds)


def _local(load: Load) -> list[float]:
    return alone(run_local, load).beyond_ms


def _kafka(load: Load, bootstrap: str, scratch: Path) -> list[float]:
    """The camera starts once the worker has its partitions, so that no frame waits for it to come up."""
    place = Kafka.fresh(bootstrap)
    create_topics(place)
    ready = scratch / f"{place.prefix}ready"
    with ThreadPoolExecutor() as beside:
        worker = beside.submit(alone, run_worker_on, load, place, ready)
        while not ready.exists() and not worker.done():
            time.sleep(0.05)
        beside.submit(capture, load, place)
        beyond_ms = read_beyond_ms(load, place)
        worker.result()
    return beyond_ms
