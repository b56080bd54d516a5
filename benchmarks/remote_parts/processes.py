"""Workers that run a query over eight streams each, with networks of their own or those of one backend between them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.integration.backend_process import backend_process
from tests.real.process import Sluice, until

STREAMS = 8
DETECTOR, RECOGNISER = "yolox-nano", "vehicle-type"
MODES = ("own networks", "shared memory", "messages")
WITHOUT_REGIONS = (
    "import sys; from serving.remote.client import region_ring as ring; ring.LEAST_BYTES = 1 << 60; "
    "from pipelines.cli import main; sys.argv[0] = 'sluice'; main()"
)
QUERY = """\
version: 1
name: remote
slo_ms: 60000
learning: {budget: 0}
backends: {gpu: {url: "grpc://ADDRESS"}}
streams: [STREAMS]
nodes:
  - {name: detect, task: detect, model: yolox-nanoON, labels: [car, bus, truck]}
  - {name: track, task: track, input: detect}
  - {name: type, task: recognise, input: track, model: RECOGNISERON, answer: look, caches: false}
"""


@dataclass(frozen=True)
class Usage:
    """What all processes together have used while so many frames were analysed."""

    frames: int
    processor_s: float
    wall_s: float
    memory_mb: float
    """Proportional set size at the end."""


def used(folder: Path, video: Path, workers: int, mode: str, frames: int, recogniser: str = RECOGNISER) -> Usage:
    """So many frames of each worker, from when each has warmed up."""
    folder.mkdir(parents=True)
    with ExitStack() as running:
        address, processes = "127.0.0.1:9", []
        if mode != MODES[0]:
            options = ("--models", folder.parent / "models", "--load", DETECTOR, "--load", recogniser)
            backend = running.enter_context(backend_process(folder / "backend", *options))
            address = backend.grpc
            processes.append(backend.command.process.pid)
        query = folder / "query.yaml"
        query.write_text(_text(video, address, mode, recogniser))
        started = [running.enter_context(_worker(folder / f"worker{number}", query, mode)) for number in range(workers)]
        processes += [each.process.pid for each in started]
        outs = [folder / f"worker{number}" / "out.jsonl" for number in range(workers)]
        _wait(outs, started, [frames // 4] * workers)
        began, done = _now(processes), [_lines(out) for out in outs]
        _wait(outs, started, [count + frames for count in done])
        ended = _now(processes)
        analysed = sum(_lines(out) for out in outs) - sum(done)
        memory_mb = sum(_memory(pid) for pid in processes) / 1e6
    return Usage(analysed, ended[0] - began[0], ended[1] - began[1], memory_mb)


@contextmanager
def _worker(folder: Path, query: Path, mode: str) -> Iterator[Sluice]:
    arguments = ("run", query, "--models", query.parents[1] / "models", "--out", "out.jsonl", "--loop")
    with _command(folder, mode, arguments) as found:
        yield found


def _command(folder: Path, mode: str, arguments: Sequence[object]) -> Sluice:
    if mode != MODES[2]:
        return Sluice(folder, *arguments)
    return Sluice(folder, "-c", WITHOUT_REGIONS, *arguments, program=sys.executable)


def _text(video: Path, address: str, mode: str, recogniser: str) -> str:
    streams = ", ".join(f"{{id: s{number}, uri: '{video}'}}" for number in range(STREAMS))
    on = "" if mode == MODES[0] else " on gpu"
    asked = QUERY.replace("RECOGNISER", recogniser)
    return asked.replace("ADDRESS", address).replace("STREAMS", streams).replace("ON", on)


def _wait(outs: Sequence[Path], started: Sequence[Sluice], wanted: Sequence[int]) -> None:
    def there() -> bool:
        return all(_lines(out) >= count for out, count in zip(outs, wanted, strict=True))

    until(there, "results", *started, timeout_s=600)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _now(processes: Sequence[int]) -> tuple[float, float]:
    """Processor seconds of all so far, and the clock."""
    times = [psutil.Process(pid).cpu_times() for pid in processes]
    return sum(each.user + each.system for each in times), time.monotonic()


def _memory(pid: int) -> int:
    return int(psutil.Process(pid).memory_full_info().pss)
