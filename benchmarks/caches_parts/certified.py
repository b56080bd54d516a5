"""Thresholds that hold on inputs which they were not tuned on: an upper confidence bound on the disagreement. Pure.

Thresholds that just keep a constraint on the inputs they were tuned on miss it on others.

*Among all inputs.* The climb is made on one half of a record, and each step of it is judged on the other half: the last
step before the first whose bound is above the tolerance is taken, and between these two the same is done in smaller
steps. Along the way thresholds only rise, so wrong answers only grow, and with probability 1 − ``DOUBT`` not more of
the inputs are answered wrongly than tolerated (Bates et al., 2021, "Distribution-free, risk-controlling prediction
sets").

*Among the answers given* the share of wrong ones may fall again, so there the bound is an estimate, which the audit
checks.

*Proven later.* Caches that are trained while a camera runs have some hundred samples, and prove themselves on each
stream before they answer there. Half of the samples hardly ever shows that 97 of 100 answers are right. So the whole
record is climbed and judged, which is weaker evidence, to begin the proof with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cache_adapt.exits.certify import DOUBT, finely, is_tolerable
from cache_adapt.exits.record import Record, Thresholds
from cache_adapt.exits.thresholds import climb

BLOCKS = 20
"""Halves are made of runs of neighbours: inputs follow each other in time, and those of one object stay together."""

Share = Literal["inputs", "answers"]


def rows(record: Record, chosen: NDArray[np.intp]) -> Record:
    """The same exits, some of the inputs."""
    return Record(record.errors[:, chosen], record.right[:, chosen], record.latency)


def leaves_at(record: Record, thresholds: Thresholds) -> NDArray[np.intp]:
    """The exit at which each input leaves; R: at none."""
    leaves = record.errors < thresholds[:, None]
    return np.where(leaves.any(axis=0), leaves.argmax(axis=0), record.exits)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of thresholds on the inputs of a record."""

    agreement: float
    """Share of the inputs that get the whole network's answer."""
    saved: float
    """Mean latency saved, as a share of the latency without exits."""
    answered: NDArray[np.intp]
    """Inputs that leave at each exit."""
    wrong: int
    """Inputs that leave with another answer."""


def effect(record: Record, thresholds: Thresholds) -> Effect:
    """Evaluate thresholds on a record, with no inference (Dai et al., 2024 [Apparate], §3.2)."""
    place = leaves_at(record, thresholds)
    if not record.inputs:
        return Effect(1.0, 0.0, np.zeros(record.exits, np.intp), 0)
    left = np.flatnonzero(place < record.exits)
    wrong = int((~record.right[place[left], left]).sum())
    answered = np.bincount(place, minlength=record.exits + 1)[:-1]
    saved = 1 - float(record.latency[place].mean() / record.latency[-1])
    return Effect(1 - wrong / record.inputs, saved, answered, wrong)


@dataclass(frozen=True, slots=True)
class Constraint:
    """The constraint on thresholds, and by what evidence it is judged."""

    agreement: float
    """At most 1 − ``agreement`` may be wrong."""
    of: Share = "inputs"
    """Among what at most 1 − ``agreement`` may be wrong."""
    independent: float = 1.0
    """As how many inputs each one counts: less than 1 where several show the same object."""
    proven_later: bool = False
    """Whether each stream demands a proof before anything is answered there, so that weaker evidence will do."""
    doubt: float = DOUBT
    """How often the bound may be below the truth."""


@dataclass(frozen=True, slots=True)
class Certified:
    """Thresholds, and what they did to the inputs that they were judged on."""

    thresholds: Thresholds
    effect: Effect
    inputs: int
    """How many they were judged on."""


def certified(record: Record, constraint: Constraint) -> Certified:
    """The highest thresholds on the climb that keep the constraint.

    Where not even the first step can be certified all thresholds are 0: no input leaves.
    """
    tuning, judging = (record, record) if constraint.proven_later else halves(record)
    way = list(finely(climb(tuning, constraint.agreement)))
    last, kept = _last_kept(way, judging, constraint)
    if not constraint.proven_later:  # there nothing makes up for trying more steps
        way = list(finely(way[last : last + 2]))
        last, kept = _last_kept(way, judging, constraint)
    return Certified(way[last], kept, judging.inputs)


def _last_kept(way: Sequence[Thresholds], judging: Record, constraint: Constraint) -> tuple[int, Effect]:
    """The place of the last step that keeps the constraint, and what it does; that of the first where none does."""
    last, kept = 0, effect(judging, way[0])
    for place, step in enumerate(way):
        found = effect(judging, step)
        trials = judging.inputs if constraint.of == "inputs" else int(found.answered.sum())
        counted = constraint.independent
        if is_tolerable(counted * found.wrong, counted * trials, 1 - constraint.agreement, constraint.doubt):
            last, kept = place, found
        elif constraint.of == "inputs":
            break
    return last, kept


def halves(record: Record) -> tuple[Record, Record]:
    """Every second run of neighbours, and the others."""
    run = np.arange(record.inputs) * BLOCKS // max(record.inputs, 1)
    return rows(record, np.flatnonzero(run % 2 == 0)), rows(record, np.flatnonzero(run % 2 == 1))
