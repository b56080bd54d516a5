"""The framework's share of a worker's time: Sluice end to end against the same work in a plain loop.

The work is ``examples/vehicles.yaml``: background subtraction, tracking, and a network for each object. Every run has
a process of its own, which notes wall clock and processor time after each frame:

``run``       capture, executor and sinks in one process, as ``sluice run --out FILE`` does it. Its floor decodes the
              same frames with PyAV and calls the same algorithms and network one after the other.
``kafka://``  a worker reads from a real broker the JPEGs that ``sluice capture`` has put there, and publishes results
              and events. Its floor starts at decoding the JPEGs.

The framework's share is the part of the processor time of the worker's process, all threads together, that goes into
anything but decoding, algorithms and networks (``pipeline_parts/account.py``). The account is kept within each run, so
that what else the machine does counts on both sides; it is processor time because stages overlap. The floor says what
the same work costs alone: ``cpu_ms_floor`` beside ``cpu_ms``, and ``fps_floor``, which a worker may well exceed. The
headlines are medians over the rounds, ``framework_share_quartiles`` how far these lie apart. OpenCV computes in one
thread on both sides, as it does in a worker.

``p50_ms`` and ``p99_ms`` are those of one stream of 25 frames/s: the time from capture until a reader has the result,
less what the nodes took. For Kafka this includes JPEG coding, capture's way to the broker and the reader's way from it.
The camera starts when the worker is ready, and its first two seconds are not counted: the first frame waits for what a
worker does once (it reads the tail of the results, its networks run for the first time), the next ones wait behind it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.pipeline_parts.cost import Marks, framework_share, middle
from benchmarks.pipeline_parts.floor import floor_of_messages, floor_of_videos
from benchmarks.pipeline_parts.latency import beyond_nodes
from benchmarks.pipeline_parts.runs import Kafka, Load, alone, capture, run_local, run_worker_on
from benchmarks.pipeline_parts.workload import clip
from tests.real.broker import KafkaBroker
from tests.real.kafka import RemoteBroker

STREAMS = (1, 8)
FLOOR = 0
"""Stands for the number of streams where the plain loop is meant."""
TRANSPORTS = ("run", "kafka://")
BACKLOG = "backlog"
FIGURES = ("framework_share", "framework_ms", "fps", "fps_floor", "cpu_ms", "cpu_ms_floor")
FPS = 25
SETTLE = 2 * FPS
"""Frames of the 25 frames/s that are not counted: they wait behind the worker's first."""


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int
    frames: Mapping[int, int]
    """Frames of each stream, by number of streams."""
    realtime_rounds: int
    realtime_frames: int


FULL = Extent(rounds=5, frames={1: 300, 8: 80}, realtime_rounds=3, realtime_frames=350)
QUICK = Extent(rounds=1, frames={1: 100, 8: 20}, realtime_rounds=1, realtime_frames=100)


def measure(quick: bool) -> harness.Outcome:
    """Every transport and number of streams, by turns with their floors; then the latency of one stream."""
    extent, source = QUICK if quick else FULL, clip()
    named = os.environ.get("SLUICE_TEST_KAFKA")
    with nullcontext(RemoteBroker(named)) if named else KafkaBroker() as broker:
        found = harness.interleaved(_variants(extent, source, broker.bootstrap), extent.rounds)
        latencies = beyond_nodes(source, FPS, extent.realtime_frames, broker.bootstrap, extent.realtime_rounds)
    rows = [*_throughput_rows(extent, found), *_latency_rows(latencies)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def _variants(extent: Extent, source: Path, bootstrap: str) -> dict[tuple[str, int], Callable[[], Marks]]:
    longest = max(extent.frames.values())
    variants: dict[tuple[str, int], Callable[[], Marks]] = {
        ("run", FLOOR): partial(alone, floor_of_videos, source, longest),
        ("kafka://", FLOOR): partial(alone, floor_of_messages, source, longest),
    }
    for streams, frames in extent.frames.items():
        load, place = Load(source, streams, frames), Kafka.fresh(bootstrap)
        # Now, not beside the worker, whose cores it would take; every worker reads them from the beginning.
        capture(load, place)
        variants["run", streams] = partial(_local, load)
        variants["kafka://", streams] = partial(alone, run_worker_on, load, place)
    return variants


def _local(load: Load) -> Marks:
    return alone(run_local, load).marks


def _throughput_rows(extent: Extent, found: Mapping[tuple[str, int], Sequence[Marks]]) -> Iterator[harness.Row]:
    for transport in TRANSPORTS:
        for streams, frames in extent.frames.items():
            pairs = zip(found[transport, streams], found[transport, FLOOR], strict=True)
            for number, (marks, floor) in enumerate(pairs):
                yield throughput_row(transport, streams, frames, number, marks, floor)


def throughput_row(
    transport: str, streams: int, frames: int, number: int, marks: Marks, floor: Marks
) -> dict[str, Any]:
    """One run beside the floor of its round. The same frames of both are counted: the middle four fifths."""
    first, last = middle(frames)
    run, plain = marks.cost(first * streams, last * streams), floor.cost(first, last)
    return {
        "transport": transport,
        "streams": streams,
        "load": BACKLOG,
        "round": number,
        "framework_share": round(framework_share(run), 4),
        "framework_ms": round(run.framework_s * 1000, 3),
        "fps": round(run.fps, 2),
        "fps_floor": round(plain.fps, 2),
        "cpu_ms": round(run.cpu_s * 1000, 3),
        "cpu_ms_floor": round(plain.cpu_s * 1000, 3),
        "p50_ms": math.nan,
        "p99_ms": math.nan,
        "dropped": 0,
    }


def _latency_rows(latencies: Mapping[str, Sequence[Sequence[float]]]) -> Iterator[harness.Row]:
    for transport, rounds in latencies.items():
        for number, beyond_ms in enumerate(rounds):
            yield latency_row(transport, number, beyond_ms)


def latency_row(transport: str, number: int, beyond_ms: Sequence[float]) -> dict[str, Any]:
    """One stream at a camera's rate; NaN stands for a dropped frame."""
    settled = np.array(beyond_ms[SETTLE:])
    p50_ms, p99_ms = (round(float(np.nanpercentile(settled, share)), 2) for share in (50, 99))
    return {
        "transport": transport,
        "streams": 1,
        "load": f"{FPS} frames/s",
        "round": number,
        **dict.fromkeys(FIGURES, math.nan),
        "p50_ms": p50_ms,
        "p99_ms": p99_ms,
        "dropped": int(np.isnan(settled).sum()),
    }


def headline(rows: Sequence[harness.Row]) -> dict[str, dict[str, Any]]:
    """For each transport the number of streams with the larger share, by the medians over the rounds."""
    return {transport: _worst([row for row in rows if row["transport"] == transport]) for transport in TRANSPORTS}


def _worst(rows: Sequence[harness.Row]) -> dict[str, Any]:
    by_streams = {streams: _medians(rows, streams) for streams in {row["streams"] for row in rows}}
    streams = max(by_streams, key=lambda streams: by_streams[streams]["framework_share"])
    shares = [row["framework_share"] for row in _backlog(rows, streams)]
    slow = [row["p99_ms"] for row in rows if row["load"] != BACKLOG]
    return {
        "streams": streams,
        **by_streams[streams],
        "framework_share_quartiles": [round(float(np.percentile(shares, quarter)), 4) for quarter in (25, 75)],
        "p99_ms": round(float(np.median(slow)), 2),
    }


def _backlog(rows: Sequence[harness.Row], streams: int) -> list[harness.Row]:
    return [row for row in rows if row["load"] == BACKLOG and row["streams"] == streams]


def _medians(rows: Sequence[harness.Row], streams: int) -> dict[str, float]:
    counted = _backlog(rows, streams)
    return {key: round(float(np.median([row[key] for row in counted])), 4) for key in FIGURES}


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    times, rates, latencies = figure.subplots(1, 3)
    cases = [(transport, streams) for transport in TRANSPORTS for streams in STREAMS]
    names = [f"{transport}\n{streams} stream{'s' if streams > 1 else ''}" for transport, streams in cases]
    found = [_medians([row for row in rows if row["transport"] == transport], streams) for transport, streams in cases]
    work_ms = [each["cpu_ms"] - each["framework_ms"] for each in found]
    times.bar(names, work_ms, color="#bbb", label="decoding, algorithms, networks")
    times.bar(names, [each["framework_ms"] for each in found], bottom=work_ms, color="#2a7", label="framework")
    times.set_title("processor time of a frame, ms", fontsize=8)
    places = np.arange(len(cases))
    rates.bar(places - 0.2, [each["fps_floor"] for each in found], 0.4, color="#bbb", label="plain loop")
    rates.bar(places + 0.2, [each["fps"] for each in found], 0.4, color="#2a7", label="end to end")
    rates.set_xticks(places, names)
    rates.set_title("frames/s", fontsize=8)
    slow = {
        transport: [row for row in rows if row["transport"] == transport and row["load"] != BACKLOG]
        for transport in TRANSPORTS
    }
    for key, colour in (("p99_ms", "#2a7"), ("p50_ms", "#bbb")):
        heights = [float(np.median([row[key] for row in each])) for each in slow.values()]
        latencies.bar(list(slow), heights, color=colour, label=key)
    latencies.set_title(f"beyond the nodes at {FPS} frames/s, ms", fontsize=8)
    for axes in (times, rates, latencies):
        axes.tick_params(labelsize=6)
        axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("pipeline", measure, __doc__ or "")
