"""Tables 5.1 and 5.2 of Shen, 2019: what was run, and what came out."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.weg_parts.compact import Compact
from datasets.streams import Phase
from specialization.rates import Template
from specialization.weg.config import WegConfig

OBJECTS_PER_S = 6
SEGMENT_S = 300
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30)
"""Numbers n of dominant classes at which a template is measured; between them it is interpolated."""


@dataclass(frozen=True)
class Task:
    """An oracle and the compact network beside it (table 5.1), and the parameters the paper takes for them."""

    name: str
    classes: int
    oracle_accuracy: float
    oracle_ms: float
    compact_accuracy: float
    compact_ms: float
    tau_a: float
    training_skew: float
    training_s: float
    """Cost of a head (§5.2); not stated for scenes, where it is taken from objects, whose network is alike."""

    def template(self) -> Template:
        """The compact network with its rates."""
        compact = Compact(self.classes, self.compact_accuracy)
        measured = {n: compact.rates(n, self.training_skew) for n in SIZES}
        return Template("compact", self.compact_ms / self.oracle_ms, measured)

    def config(self) -> WegConfig:
        """The paper's parameters."""
        return WegConfig(
            classes=self.classes,
            oracle_accuracy=self.oracle_accuracy,
            tau_a=self.tau_a,
            training_skew=self.training_skew,
        )


OBJECT = Task("object", 1000, 0.689, 11.0, 0.470, 2.8, 0.05, 0.6, 14)
SCENE = Task("scene", 205, 0.581, 28.8, 0.408, 2.44, 0.05, 0.7, 14)
FACE = Task("face", 2622, 0.958, 28.8, 0.809, 1.93, -0.05, 0.5, 4)


@dataclass(frozen=True)
class Row:
    """A row of table 5.2: accuracy in fractions, latency in ms, with the specializer off and on."""

    task: Task
    segments: tuple[tuple[int, float], ...]
    """(n, p) of each five minutes; n = 0 is random."""
    off: tuple[float, float]
    on: tuple[float, float]

    @property
    def name(self) -> str:
        """As printed, with the task."""
        parts = [f"{n}_{p * 100:.0f}" if n else "random" for n, p in self.segments]
        return f"{self.task.name} {'+'.join(parts)}"

    def phases(self) -> list[Phase]:
        """The segments, one object every sixth of a second."""
        return [Phase(SEGMENT_S * OBJECTS_PER_S, n, p) for n, p in self.segments]


RANDOM = (0, 0.0)
ROWS = (
    Row(OBJECT, ((5, 0.8),), (0.695, 11.6), (0.770, 6.0)),
    Row(OBJECT, ((10, 0.8),), (0.667, 11.7), (0.725, 7.4)),
    Row(OBJECT, ((10, 0.9),), (0.718, 11.6), (0.780, 5.9)),
    Row(OBJECT, ((15, 0.9),), (0.687, 11.6), (0.689, 9.1)),
    Row(OBJECT, (RANDOM,), (0.681, 12.1), (0.681, 11.5)),
    Row(OBJECT, ((10, 0.9), RANDOM), (0.679, 11.8), (0.702, 9.1)),
    Row(OBJECT, ((15, 0.9), (5, 0.8)), (0.706, 11.6), (0.739, 7.8)),
    Row(SCENE, ((5, 0.8),), (0.576, 28.9), (0.652, 12.0)),
    Row(SCENE, ((10, 0.8),), (0.572, 28.9), (0.578, 18.6)),
    Row(SCENE, ((10, 0.9),), (0.591, 28.8), (0.635, 15.4)),
    Row(SCENE, ((15, 0.9),), (0.578, 28.8), (0.572, 22.6)),
    Row(SCENE, (RANDOM,), (0.591, 28.9), (0.591, 28.8)),
    Row(SCENE, ((10, 0.9), RANDOM), (0.570, 28.8), (0.560, 22.6)),
    Row(SCENE, ((15, 0.9), (5, 0.8)), (0.611, 28.7), (0.630, 17.1)),
    Row(FACE, ((5, 0.8),), (0.952, 28.7), (0.951, 9.2)),
    Row(FACE, ((5, 0.9),), (0.970, 28.6), (0.962, 6.7)),
    Row(FACE, ((10, 0.9),), (0.954, 28.5), (0.943, 11.0)),
    Row(FACE, (RANDOM,), (0.959, 28.5), (0.959, 28.5)),
    Row(FACE, ((5, 0.9), RANDOM), (0.962, 28.5), (0.962, 17.6)),
    Row(FACE, ((10, 0.9), (10, 0.8)), (0.958, 28.5), (0.952, 10.4)),
)
CHANGES = {10: 0.95, 20: 1.19, 30: 1.48}
"""Speed-up on faces whose distribution changes every so many seconds (§5.4.1)."""
