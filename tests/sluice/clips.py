"""A query and clips of a square that moves, for runs from Python."""

from __future__ import annotations

import threading
from pathlib import Path

import sluice
from tests.pipelines.run.test_run_query import write_clip

NODES = [
    {"name": "detect", "task": "detect", "model": "motion"},
    {"name": "track", "task": "track", "input": "detect"},
]
FRAMES = 20
__all__ = ["FRAMES", "NODES", "query", "running", "write_clip"]


def query(*nodes: dict[str, object], operators: dict[str, type] | None = None) -> sluice.Query:
    return sluice.Query(name="test", slo_ms=5000, nodes=[*NODES, *nodes], operators=operators or {})


def running() -> list[str]:
    """Threads that runs have started, but those that all runs share."""
    return [each.name for each in threading.enumerate() if each.name.startswith(("sluice-run", "capture"))]


def clip(folder: Path, name: str = "clip.mp4", frames: int = FRAMES) -> Path:
    return write_clip(folder / name, frames)
