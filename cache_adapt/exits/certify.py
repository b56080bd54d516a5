"""Thresholds that hold on inputs which they were not tuned on: an upper confidence bound on the disagreement. Pure.

Thresholds that just keep a constraint on the inputs they were tuned on miss it on others.

*Among all inputs.* The climb is made on one half of a record, and each step of it is judged on the other half: the last
step before the first whose bound is above the tolerance is taken. Along the way thresholds only rise, so wrong answers
only grow, and with probability 1 − ``DOUBT`` not more of the inputs are answered wrongly than tolerated (Bates et al.,
2021, "Distribution-free, risk-controlling prediction sets").

*Among the answers given* the share of wrong ones may fall again, so there the bound is an estimate, which the audit
checks.

*Proven later.* Caches that are trained while a camera runs have some hundred samples, and prove themselves on each
stream before they answer there. Half of the samples hardly ever shows that 97 of 100 answers are right. So the whole
record is climbed and judged, which is weaker evidence, to begin the proof with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import betaincinv

from cache_adapt.exits.record import Effect, Record, Thresholds, effect
from cache_adapt.exits.thresholds import climb

DOUBT = 0.1
"""How often the bound may be below the truth."""
BLOCKS = 20
"""Halves are made of runs of neighbours: inputs follow each other in time, and those of one object stay together."""

PARTS = 8
"""Smaller steps in one of the climb."""

Share = Literal["inputs", "answers"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """What thresholds have to keep, and by what evidence that is judged."""

    agreement: float
    """At most 1 − ``agreement`` may be wrong."""
    of: Share = "inputs"
    """Among what at most 1 − ``agreement`` may be wrong."""
    independent: float = 1.0
    """As how many inputs each one counts: less than 1 where several show the same object."""
    proven_later: bool = False
    """Whether each stream demands a proof before anything is answered there, so that weaker evidence will do."""


@dataclass(frozen=True, slots=True)
class Certified:
    """Thresholds, and what they did to the inputs that they were judged on."""

    thresholds: Thresholds
    effect: Effect
    bound: float
    """Upper confidence bound of the share of wrong answers."""
    inputs: int
    """How many they were judged on."""


def certified(record: Record, constraint: Constraint) -> Certified:
    """The highest thresholds on the climb that keep the constraint.

    Where not even the first step can be certified all thresholds are 0: no input leaves.
    """
    agreement, of, independent = constraint.agreement, constraint.of, constraint.independent
    tuning, judging = (record, record) if constraint.proven_later else halves(record)
    kept = Certified(np.zeros(record.exits), effect(judging, np.zeros(record.exits)), 0.0, judging.inputs)
    for thresholds in _finely(climb(tuning, agreement)):
        found = effect(judging, thresholds)
        answered = int(found.answered.sum())
        trials = judging.inputs if of == "inputs" else answered
        bound = upper_bound(independent * found.wrong, independent * trials)
        if bound <= 1 - agreement:
            kept = Certified(thresholds, found, bound, judging.inputs)
        elif of == "inputs":
            break
    return kept


def halves(record: Record) -> tuple[Record, Record]:
    """Every second run of neighbours, and the others."""
    run = np.arange(record.inputs) * BLOCKS // max(record.inputs, 1)
    return record.rows(np.flatnonzero(run % 2 == 0)), record.rows(np.flatnonzero(run % 2 == 1))


def upper_bound(wrong: float, trials: float, doubt: float = DOUBT) -> float:
    """The share that the truth exceeds with probability ``doubt`` at most (Clopper and Pearson, 1934).

    >>> round(upper_bound(0, 230), 4), upper_bound(0, 0)
    (0.01, 1.0)
    """
    return 1.0 if wrong >= trials else float(betaincinv(wrong + 1, trials - wrong, 1 - doubt))


def _finely(way: Sequence[Thresholds]) -> Iterator[Thresholds]:
    """The same way in smaller steps: a climb takes large ones, and the last that holds may end in between."""
    yield way[0]
    for before, after in pairwise(way):
        for part in range(1, PARTS + 1):
            yield before + (after - before) * part / PARTS
