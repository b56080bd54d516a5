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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from cache_adapt.bisection import crossing
from cache_adapt.exits.record import Effect, Record, Thresholds, effect
from cache_adapt.exits.thresholds import climb
from learning.binomial import at_least

DOUBT = 0.1
"""How often the bound may be below the truth."""
BLOCKS = 20
"""Halves are made of runs of neighbours: inputs follow each other in time, and those of one object stay together."""

PARTS = 8
"""Smaller steps in one of the climb."""

Share = Literal["inputs", "answers"]


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
    return record.rows(np.flatnonzero(run % 2 == 0)), record.rows(np.flatnonzero(run % 2 == 1))


def upper_bound(wrong: float, trials: float, doubt: float = DOUBT) -> float:
    """The share that the truth exceeds with probability ``doubt`` at most (Clopper and Pearson, 1934).

    >>> round(upper_bound(0, 230), 4), upper_bound(0, 0)
    (0.01, 1.0)
    """
    if wrong >= trials:
        return 1.0
    return crossing(lambda share: at_least(wrong + 1, trials, share) - (1 - doubt), 0.0, 1.0)


def is_tolerable(wrong: float, trials: float, most: float, doubt: float = DOUBT) -> bool:
    """Whether the upper bound is at most so much.

    >>> is_tolerable(0, 230, 0.0101), is_tolerable(0, 230, 0.0099)
    (True, False)
    """
    return most >= 1.0 if wrong >= trials else 1 - at_least(wrong + 1, trials, most) <= doubt


def finely(way: Sequence[Thresholds]) -> Iterator[Thresholds]:
    """The same way in smaller steps: a climb takes large ones, and the last that holds may end in between."""
    yield way[0]
    for before, after in pairwise(way):
        for part in range(1, PARTS + 1):
            yield before + (after - before) * part / PARTS
