"""Whether a worker with everything on goes on growing: its memory from its first minute on.

A real broker, ``sluice capture`` of three real clips (2 frames/s each, over and over), ``sluice adapt``, and one
``sluice worker --adapt --record --serve``: a detector when it is needed, tracks, a recogniser with a cheaper model,
specialised heads and learned caches, a zone, a line, events; somebody reads its metrics. Nothing is killed. A worker
grows while its networks are loaded and its memories fill: the slope of the low points, one a minute, is taken before
and after a third of the time (Theil and Sen's). 45 minutes are committed (``--minutes 45``).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Outcome, run
from benchmarks.soak_parts.installation import START_S, Installation
from benchmarks.soak_parts.memory import Sample, low_points, mb_per_hour, samples
from benchmarks.tracking_parts.recordings import models
from tests.real.broker import KafkaBroker
from tests.real.ports import free_port
from tests.real.process import Sluice, until

VIDEOS = Path(os.environ.get("SLUICE_DATA", "../shared/data")).resolve() / "videos"
MINUTES, QUICK_S = 10.0, 25.0
EVERY_S = 5.0
FILLING = 1 / 3
"""Share of the time in which a worker's memory fills."""
QUERY = """\
version: 1
name: soak
slo_ms: 1000
streams:
  - {{id: street, uri: "{videos}/street-level.mp4", sample: {{fps: 2}}, overload: drop_oldest}}
  - {{id: carpark, uri: "{videos}/car-detection.mp4", sample: {{fps: 2}}, overload: drop_oldest}}
  - {{id: mixed, uri: "{videos}/person-bicycle-car-detection.mp4", sample: {{fps: 2}}, overload: drop_oldest}}
nodes:
  - {{name: detect, task: detect, model: yolox-nano, when: needed, labels: [person, bicycle, car, bus, truck]}}
  - {{name: track, task: track, input: detect}}
  - name: type
    task: recognise
    input: "track[label in (car, bus, truck)]"
    model: [vehicle-type, vehicle-type-compact]
    specialize: true
    caches: true
    attribute: vehicle_type
zones:
  - {{name: middle, polygon: [[0.3, 0.3], [0.7, 0.3], [0.7, 1], [0.3, 1]]}}
lines:
  - {{name: counter, points: [[0.5, 1], [0.5, 0.2]]}}
publish:
  events: {{count_every_s: 30}}
"""


def measure(quick: bool, minutes: float = MINUTES) -> Outcome:
    """Rows: one per process and minute, the low point of its memory."""
    seconds = QUICK_S if quick else minutes * 60
    with tempfile.TemporaryDirectory(prefix="sluice-soak-") as scratch, _installed(Path(scratch)) as (running, port):
        found = _watch(running, port, seconds)
        frames, without_outcome = running.account.frames(), running.finish()
    filling_s = FILLING * seconds
    early = mb_per_hour([each for each in found if each.time_s <= filling_s], "rss_mb", 0.0)
    late = mb_per_hour(found, "rss_mb", filling_s)
    worker = [each for each in found if each.process == "worker"]
    headline = {
        "worker_mb": [
            round(each.rss_mb) for each in (worker[0], max(worker, key=lambda each: each.rss_mb), worker[-1])
        ],
        "worker_mb_per_hour_filling": round(early.get("worker", 0.0), 1),
        "worker_mb_per_hour_afterwards": round(late.get("worker", 0.0), 1),
        "adapt_mb_per_hour_afterwards": round(late.get("adapt", 0.0), 1),
        "frames": frames,
        "frames_without_outcome": without_outcome,
        "minutes": round(seconds / 60, 1),
    }
    rows = [
        each.row()
        for name in dict.fromkeys(each.process for each in found)
        for each in low_points([one for one in found if one.process == name], "rss_mb")
    ]
    return Outcome(rows, headline, partial(_draw, found, filling_s))


@contextmanager
def _installed(directory: Path) -> Iterator[tuple[Installation, int]]:
    """Everything, once results come, and where the worker serves."""
    with KafkaBroker() as broker:
        known, port = models("yolox-nano", directory / "models"), free_port()
        query = directory / "query.yaml"
        query.write_text(QUERY.format(videos=VIDEOS))
        with Sluice(directory / "topics", "topics", "create", query, broker=broker.bootstrap) as topics:
            if topics.wait() != 0:
                raise RuntimeError(topics.errors)
        serving = ("--serve", "--listen", f"127.0.0.1:{port}")
        recording = ("--record", directory / "evidence", "--record-mb", "100")
        commands: dict[str, Sequence[object]] = {
            "adapt": ("adapt", query, "--models", known),
            "worker": ("worker", query, "--models", known, "--adapt", *recording, *serving),
            "capture": ("capture", query, "--realtime", "--loop"),
        }
        installed = Installation(directory, commands, broker.bootstrap)
        try:
            with installed.account as account:
                processes = installed.processes.values()
                until(lambda: account.results() > 0, "the first result", *processes, timeout_s=START_S)
                yield installed, port
        finally:
            installed.close()


def _watch(running: Installation, port: int, seconds: float) -> list[Sample]:
    found: list[Sample] = []
    started_s = time.monotonic()
    while (passed_s := time.monotonic() - started_s) < seconds:
        for name, each in running.processes.items():
            if each.process.poll() is not None:
                raise SystemExit(f"{name} ended: {each.errors[-2000:]}")
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as metrics:
            metrics.read()
        found += samples({name: each.process.pid for name, each in running.processes.items()}, passed_s)
        time.sleep(EVERY_S - (time.monotonic() - started_s) % EVERY_S)
    return found


def _draw(found: Sequence[Sample], filling_s: float, figure: Any) -> None:
    axes = figure.subplots()
    for name in dict.fromkeys(each.process for each in found if "child" not in each.process):
        mine = [each for each in found if each.process == name]
        axes.plot([each.time_s / 60 for each in mine], [each.rss_mb for each in mine], label=name, linewidth=1)
    axes.axvspan(0, filling_s / 60, color="grey", alpha=0.15)
    axes.set(title="resident memory, MB", xlabel="minutes (grey: memories fill)", ylim=(0, None))
    axes.legend()


def _main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    known, sys.argv[1:] = parser.parse_known_args()
    run("soak_everything", partial(measure, minutes=known.minutes), f"{__doc__}\n--minutes N: how long ({MINUTES:g})")


if __name__ == "__main__":
    _main()
