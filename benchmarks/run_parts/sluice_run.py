"""``sluice run`` in a process of its own: what it wrote, and the processor time that it took."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Run:
    """A run that has ended."""

    cpu_s: float
    """Processor time of the whole process, its start included."""
    wall_s: float
    lines: Sequence[Mapping[str, Any]]
    """The results, in the order of the frames."""
    report: Mapping[str, Any]

    def node_s(self, node: str) -> float:
        """Time that frames spent in a node."""
        return sum(float(line["plan"]["stages_ms"].get(node, 0.0)) for line in self.lines) / 1000


def sluice_run(folder: Path, query: Mapping[str, Any], *options: str) -> Run:
    """Analyse what the query says; its files are written into the folder, over those of the run before.

    What runs keep of networks lies there too. A query is run over one frame first, so that all its runs find as much.
    """
    asked, results, report = folder / "query.yaml", folder / "results.jsonl", folder / "report.json"
    asked.write_text(yaml.safe_dump(query), encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "run", str(asked), *options]
    command += ["--out", str(results), "--report", str(report)]
    cache = own_cache(folder / "cache")
    known = folder / f"{hashlib.sha256(asked.read_bytes()).hexdigest()}.known"
    if not known.exists():
        processor_s([*command, "--limit", "1"], cache)
        known.touch()
    started_s = time.perf_counter()
    cpu_s = processor_s(command, cache)
    wall_s = time.perf_counter() - started_s
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    lines.sort(key=lambda line: int(line["seq"]))
    return Run(cpu_s, wall_s, lines, json.loads(report.read_text(encoding="utf-8")))


def own_cache(folder: Path) -> dict[str, str]:
    """The environment of a run that keeps in a folder what it learns of networks: it knows nothing of the user's."""
    return {**os.environ, "SLUICE_CACHE": str(folder)}


def processor_s(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Run a command to its end; returns the processor seconds that it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
