"""The streams and networks of ``benchmarks.weg_synthetic``: the paper's, and some drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.weg_parts.paper import CHANGES, FACE, OBJECT, OBJECTS_PER_S, ROWS, SEGMENT_S, Row, Task
from datasets.streams import ClassStream, Phase, changing, generate, in_runs

SEED = 2025
HELD_OUT = 24
CHANGES_S = 600
RUNS_N, RUNS = (5, 0), (5, 20)
"""Dominant classes, and lengths of the runs in which the classes come."""


@dataclass(frozen=True)
class Setting:
    """A task and the phases of its stream; what the paper measured of it, if it did."""

    group: str
    name: str
    task: Task
    phases: tuple[Phase, ...]
    paper_speedup: float | None = None
    paper_accuracy_diff: float | None = None
    abrupt: bool = False
    """No dominant class stays when the phase changes."""
    run_length: float = 1.0
    """Objects of one class in a row, on average, beyond chance."""

    def stream(self, rng: np.random.Generator) -> ClassStream:
        """One of its streams."""
        if self.abrupt:
            return changing(rng, self.task.classes, self.phases[0], len(self.phases))
        return in_runs(rng, generate(rng, self.task.classes, self.phases), self.run_length)


def settings() -> list[Setting]:
    """The rows of table 5.2, changes every so many seconds, classes in runs, and settings drawn at random."""
    rng = np.random.default_rng(SEED)
    return [
        *(_table(row) for row in ROWS),
        *(_changes(seconds, speedup) for seconds, speedup in CHANGES.items()),
        *(_runs(task, n, length) for task in (OBJECT, FACE) for n in RUNS_N for length in RUNS),
        *(_drawn(rng, number) for number in range(HELD_OUT)),
    ]


def _table(row: Row) -> Setting:
    (off, off_ms), (on, on_ms) = row.off, row.on
    return Setting("table 5.2", row.name, row.task, tuple(row.phases()), off_ms / on_ms, on - off)


def _changes(seconds: int, speedup: float) -> Setting:
    """Five people make up 90 % of the faces; the paper does not say what it took."""
    phases = (Phase(seconds * OBJECTS_PER_S, 5, 0.9),) * (CHANGES_S // seconds)
    return Setting("changes", f"face every {seconds} s", FACE, phases, speedup, 0.0, abrupt=True)


def _runs(task: Task, n: int, length: int) -> Setting:
    phases = (Phase(2 * SEGMENT_S * OBJECTS_PER_S, n, 0.9 if n else 0.0),)
    name = f"{task.name} {'5_90' if n else 'random'} runs of {length}"
    return Setting("runs", name, task, phases, run_length=length)


def _drawn(rng: np.random.Generator, number: int) -> Setting:
    classes = int(np.exp(rng.uniform(np.log(20), np.log(3000))))
    oracle = float(rng.uniform(0.6, 1.0))
    task = Task(
        f"drawn {number}",
        classes,
        oracle,
        10.0,
        oracle * float(rng.uniform(0.65, 0.9)),
        float(rng.uniform(0.5, 3.0)),
        float(rng.choice([-0.05, 0.0, 0.05])) if oracle < 0.9 else -0.04,
        0.6,
        float(rng.uniform(1, 15)),
    )
    phases = tuple(_phase(rng, classes) for _ in range(rng.integers(1, 5)))
    segments = "+".join(f"{phase.dominant}_{phase.skew * 100:.0f}" if phase.dominant else "random" for phase in phases)
    return Setting("drawn", f"{classes} classes {segments}", task, phases)


def _phase(rng: np.random.Generator, classes: int) -> Phase:
    length = int(rng.integers(60, 300)) * OBJECTS_PER_S
    if rng.random() < 0.2:
        return Phase(length)
    return Phase(length, int(rng.integers(1, min(15, classes // 3) + 1)), float(rng.uniform(0.6, 0.97)))
