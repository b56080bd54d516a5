"""Sequences of classes with a known skew, phase by phase: streams for which the right answer is known.

In a phase with n dominant classes and skew p an object is of a dominant class with probability p and of one of the
others with 1 − p, equally often within each (Shen, 2019, §5.4.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Phase:
    """A number of objects of one distribution; ``dominant`` 0: all classes equally often."""

    length: int
    dominant: int = 0
    skew: float = 0.0


@dataclass(frozen=True, slots=True)
class ClassStream:
    """The class of every object, and what was dominant in each phase."""

    labels: Labels
    phases: Sequence[Phase]
    dominant: Sequence[frozenset[int]]
    """The dominant classes of each phase; empty without skew."""


def generate(rng: np.random.Generator, classes: int, phases: Sequence[Phase]) -> ClassStream:
    """Draw the dominant classes of every phase, each on its own, and the objects.

    Raises ``ValueError`` where a phase has more dominant classes than there are classes.
    """
    most = max(phase.dominant for phase in phases)
    if most > classes:
        raise ValueError(f"{most} of {classes} classes cannot be dominant: ask for fewer")
    dominant = [rng.permutation(classes)[: phase.dominant] for phase in phases]
    return _drawn(rng, classes, phases, dominant)


def changing(rng: np.random.Generator, classes: int, phase: Phase, count: int) -> ClassStream:
    """Abrupt changes: the phase several times, with no dominant class in two consecutive phases.

    Raises ``ValueError`` where two such sets do not fit into the classes.
    """
    if 2 * phase.dominant > classes:
        raise ValueError(
            f"two sets of {phase.dominant} dominant classes do not fit into {classes} classes: ask for fewer"
        )
    phases = [phase] * count
    return _drawn(rng, classes, phases, list(_disjoint(rng, classes, phase.dominant, count)))


def in_runs(rng: np.random.Generator, stream: ClassStream, length: float) -> ClassStream:
    """The same skew, but in runs of one class, as where objects stay in view; ``length`` is a run's mean."""
    begins = np.where(rng.random(len(stream.labels)) < 1 / length, np.arange(len(stream.labels)), 0)
    return replace(stream, labels=stream.labels[np.maximum.accumulate(begins)])


def _disjoint(rng: np.random.Generator, classes: int, dominant: int, count: int) -> Iterator[Labels]:
    last = np.empty(0, np.intp)
    for _ in range(count):
        last = rng.permutation(np.setdiff1d(np.arange(classes), last))[:dominant]
        yield last


def _drawn(rng: np.random.Generator, classes: int, phases: Sequence[Phase], dominant: Sequence[Labels]) -> ClassStream:
    labels = [_labels(rng, classes, phase, chosen) for phase, chosen in zip(phases, dominant, strict=True)]
    return ClassStream(np.concatenate(labels), phases, [frozenset(chosen.tolist()) for chosen in dominant])


def _labels(rng: np.random.Generator, classes: int, phase: Phase, dominant: Labels) -> Labels:
    others = np.setdiff1d(np.arange(classes), dominant)
    if len(dominant) == 0:
        return rng.choice(others, phase.length)
    if len(others) == 0:
        return rng.choice(dominant, phase.length)
    is_dominant = rng.random(phase.length) < phase.skew
    return np.where(is_dominant, rng.choice(dominant, phase.length), rng.choice(others, phase.length))
