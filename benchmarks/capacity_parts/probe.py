"""One run of so many cameras, for so long: whether they are held, and what they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.capacity_parts.results import Answer, FileResults, Latencies, Results, TopicResults
from benchmarks.capacity_parts.usage import memory_mb, processor_s
from tests.real.broker import KafkaBroker
from tests.real.process import Sluice, until

START_S = 120.0
SETTLE_S, SETTLE_MOST_S = 5.0, 30.0
"""Frames are counted once none was lost for so long after the first of the last camera, or after the most: before,
networks run for the first time, and a worker catches up."""
LATE_S = 3.0
"""How long results are waited for after the last frame that counts."""
LOOK_S = 1.0


@dataclass(frozen=True)
class Held:
    """What a run showed."""

    cameras: int
    fault: str | None
    """Why they are not held; None: they are."""
    latencies: Latencies
    cpu_ms: float
    """Processor time of Sluice's processes, for each frame."""
    cores: float
    """The same, for each second."""
    memory_mb: float
    start_s: float
    """From the start of the command to the first result of the last camera."""


@dataclass(frozen=True)
class Running:
    """Sluice at work."""

    processes: Sequence[Sluice]
    results: Results

    @property
    def pids(self) -> list[int]:
        return [each.process.pid for each in self.processes]


Start = Callable[[ExitStack, Path, Path], Running]
"""Starts what analyses a query (the second path) in a folder of its own."""


def probe(folder: Path, query: Mapping[str, Any], start: Start, seconds: float) -> Held:
    """Run until it is plain that the cameras are not held, at most for so long."""
    count = len(query["streams"])
    file = folder / "query.yaml"
    file.write_text(yaml.safe_dump(dict(query)), encoding="utf-8")
    with ExitStack() as stack:
        began_s = time.time()
        running = start(stack, folder, file)
        seen: set[str] = set()
        try:
            until(lambda: _all_there(running, seen, count), "all cameras", *running.processes, timeout_s=START_S)
        except AssertionError as error:
            why = f"{len(seen)} of {count} cameras came: {error}".partition("\n")[0]
            return Held(count, why, Latencies.of([]), 0.0, 0.0, 0.0, START_S)
        start_s = time.time() - began_s
        _settle(running)
        return _watched(running, count, seconds, start_s)


def _all_there(running: Running, seen: set[str], count: int) -> bool:
    seen.update(each.stream for each in running.results.fresh())
    return len(seen) == count


def _settle(running: Running) -> None:
    began_s = lost_s = time.time()
    while time.time() < min(lost_s + SETTLE_S, began_s + SETTLE_MOST_S):
        time.sleep(LOOK_S)
        if any(each.latency_ms is None for each in running.results.fresh()):
            lost_s = time.time()


def _watched(running: Running, count: int, seconds: float, start_s: float) -> Held:
    answers: list[Answer] = []
    from_s, before_s = time.time(), processor_s(running.pids)
    lost, until_s = False, from_s + seconds
    while time.time() < until_s and not lost:
        time.sleep(LOOK_S)
        fresh = list(running.results.fresh())
        answers += fresh
        lost = any(each.latency_ms is None for each in fresh if each.captured_s >= from_s)
    until_s, after_s = time.time(), processor_s(running.pids)
    memory = memory_mb(running.pids)
    time.sleep(LATE_S)
    answers += running.results.fresh()
    counted = [each for each in answers if from_s <= each.captured_s < until_s]
    latencies, took_s = Latencies.of(counted), until_s - from_s
    return Held(
        cameras=count,
        fault=latencies.fault(count, took_s),
        latencies=latencies,
        cpu_ms=round((after_s - before_s) * 1000 / max(1, len(counted)), 2),
        cores=round((after_s - before_s) / took_s, 2),
        memory_mb=round(memory, 1),
        start_s=round(start_s, 1),
    )


def over_run(models: Path) -> Start:
    """``sluice run`` into a file."""

    def start(stack: ExitStack, folder: Path, query: Path) -> Running:
        out = folder / "results.jsonl"
        out.unlink(missing_ok=True)
        results = FileResults(out)
        stack.callback(results.close)
        run = stack.enter_context(_ended(Sluice(folder / "run", "run", query, "--models", models, "--out", out)))
        return Running([run], results)

    return start


def over_kafka(models: Path) -> Start:
    """``sluice capture`` and ``sluice worker`` on both sides of a broker of their own."""

    def start(stack: ExitStack, folder: Path, query: Path) -> Running:
        broker = stack.enter_context(KafkaBroker()).bootstrap
        with Sluice(folder / "topics", "topics", "create", query, broker=broker) as topics:
            if topics.wait():
                raise RuntimeError(topics.errors)
        results = TopicResults(broker)
        stack.callback(results.close)
        commands = ("worker", query, "--models", models), ("capture", query)
        processes = [Sluice(folder / command[0], *command, broker=broker) for command in commands]
        for each in processes:
            stack.enter_context(_ended(each))
        return Running(processes, results)

    return start


@contextmanager
def _ended(process: Sluice) -> Iterator[Sluice]:
    """In good order, so that no decoder is left."""
    with process:
        yield process
        if process.process.poll() is None:
            process.terminate()
