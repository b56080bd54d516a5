"""Runs of ``sluice`` at the same time, each in a process of its own that is watched: processor time by progress."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil
import yaml

from benchmarks.run_parts.sluice_run import own_cache

WATCHED_EVERY_S = 0.5


@dataclass(frozen=True)
class Asked:
    """What one process is to do."""

    folder: Path
    """For its files, and for what it keeps."""
    query: Mapping[str, Any]
    models: Sequence[Path]

    def command(self, name: str, *options: str) -> list[str]:
        """``sluice name`` with the query, which is written down first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        asked = self.folder / "query.yaml"
        asked.write_text(yaml.safe_dump(dict(self.query)), encoding="utf-8")
        models = [part for each in self.models for part in ("--models", str(each))]
        return [sys.executable, "-m", "pipelines.cli", name, str(asked), *models, *options]

    @property
    def environment(self) -> dict[str, str]:
        """What it keeps is its own: no run finds what another has learnt."""
        return own_cache(self.folder / "cache")


@dataclass(frozen=True)
class Watched:
    """A run that has ended."""

    cpu_s: float
    """Processor seconds of the process and its children, its start included."""
    lines: Sequence[Mapping[str, Any]]
    """The results, in the order of the frames."""
    report: Mapping[str, Any]
    marks: Sequence[tuple[int, float]]
    """Results that were written by then, and processor seconds; ascending."""

    def cpu_until(self, frames: int) -> float:
        """Processor seconds until so many frames had their results."""
        counts, seconds = zip((0, 0.0), *self.marks, (len(self.lines), self.cpu_s), strict=True)
        return float(np.interp(frames, counts, seconds))


def learn(asked: Asked) -> float:
    """``sluice learn``; returns the processor seconds that it took."""
    command = asked.command("learn")
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=asked.environment)
        return _seconds(process, os.wait4(process.pid, 0), said)


def together(wanted: Mapping[str, Asked]) -> dict[str, Watched]:
    """``sluice run`` for each, at the same time: whatever else the machine does is met by all."""
    running = {name: _Running(asked) for name, asked in wanted.items()}
    try:
        while [name for name, each in running.items() if each.is_running()]:
            time.sleep(WATCHED_EVERY_S)
    finally:
        for each in running.values():
            each.end()
    return {name: each.watched() for name, each in running.items()}


@dataclass
class _Running:
    """One run."""

    asked: Asked
    marks: list[tuple[int, float]] = field(default_factory=list)
    cpu_s: float | None = None

    def __post_init__(self) -> None:
        self._results, self._report = self.asked.folder / "results.jsonl", self.asked.folder / "report.json"
        command = self.asked.command("run", "--out", str(self._results), "--report", str(self._report))
        self._results.unlink(missing_ok=True)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed in end()
        self._process = subprocess.Popen(command, stdout=self._said, stderr=self._said, env=self.asked.environment)
        self._watch, self._size, self._count = psutil.Process(self._process.pid), 0, 0

    def is_running(self) -> bool:
        """Look at it; RuntimeError where it has failed."""
        if self.cpu_s is not None:
            return False
        self._mark()
        waited = os.wait4(self._process.pid, os.WNOHANG)
        if waited[0]:
            self.cpu_s = _seconds(self._process, waited, self._said)
        return self.cpu_s is None

    def watched(self) -> Watched:
        """What came of it."""
        assert self.cpu_s is not None
        lines = [json.loads(line) for line in self._results.read_text(encoding="utf-8").splitlines()]
        lines.sort(key=lambda line: int(line["seq"]))
        report = json.loads(self._report.read_text(encoding="utf-8"))
        return Watched(self.cpu_s, lines, report, self.marks)

    def end(self) -> None:
        """Kill it where it is still there."""
        if self.cpu_s is None and self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def _mark(self) -> None:
        if self._results.exists():
            with self._results.open("rb") as file:
                file.seek(self._size)
                fresh = file.read()
            self._size, self._count = self._size + len(fresh), self._count + fresh.count(b"\n")
            try:
                self.marks.append((self._count, _processor_s(self._watch)))
            except psutil.NoSuchProcess:
                return  # it has ended


def _processor_s(process: psutil.Process) -> float:
    """So far, with its children, those that have ended too."""
    found = 0.0
    for each in (process, *process.children(recursive=True)):
        times = each.cpu_times()
        found += times.user + times.system + times.children_user + times.children_system
    return found


def _seconds(process: subprocess.Popen[bytes], waited: tuple[int, int, Any], said: IO[bytes]) -> float:
    _, status, used = waited
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said.seek(0)
        raise RuntimeError(said.read().decode())
    return float(used.ru_utime + used.ru_stime)
