"""How sure each exit must be: hill climbing over a window of recorded scores (Dai et al., 2024 [Apparate], §3.2). Pure.

From thresholds of 0, each round tries to raise every threshold by its own step, the others left alone, and carries out
the one that saves most latency for each further wrong answer. A step that would break the constraint is halved, down to
``LEAST_STEP``; that of the threshold which was raised is doubled. The climb ends where no threshold can be raised by
the least step: one that could not may be once another has been, since inputs that leave earlier may leave with the
right answer. Inputs are bits, so that a candidate is evaluated by counting them (``benchmarks/tuning.py`` times it).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cache_adapt.exits.record import Record, Thresholds

FIRST_STEP, LEAST_STEP = 0.1, 0.01


def tuned(record: Record, agreement: float) -> Thresholds:
    """Thresholds that save much latency while at least a share ``agreement`` of the record gets the right answer."""
    return climb(record, agreement)[-1]


def climb(record: Record, agreement: float) -> list[Thresholds]:
    """All thresholds on the way, each at least as high as those before it; the first are 0, the last ``tuned``."""
    hill = _Hill(record)
    most_wrong = int((1 - agreement) * record.inputs + 1e-9)
    steps, way, ends = [FIRST_STEP] * record.exits, [np.zeros(record.exits)], False
    while not ends:
        tried = [exit_ for exit_, threshold in enumerate(hill.thresholds) if threshold < 1.0]
        raised = [min(hill.thresholds[exit_] + steps[exit_], 1.0) for exit_ in tried]
        spare, allowed, ends = most_wrong - hill.wrong, [], True
        for exit_, threshold, moves in zip(tried, raised, hill.moves(tried, raised), strict=True):
            errs = hill.errs(exit_, moves)
            if errs <= spare:
                allowed.append((_worth(hill.saves(exit_, moves), errs), exit_, threshold, moves))
            elif steps[exit_] > LEAST_STEP:
                steps[exit_], ends = max(steps[exit_] / 2, LEAST_STEP), False
        if allowed:
            _, exit_, threshold, moves = max(allowed)
            hill.raise_to(exit_, threshold, moves)
            steps[exit_], ends = steps[exit_] * 2, False
            way.append(np.array(hill.thresholds))
    return way


def _worth(saves: float, errs: int) -> tuple[bool, float]:
    """Savings for each further wrong answer; what costs no right answer comes first, by its savings."""
    return errs <= 0 < saves, saves / max(errs, 1)


class _Hill:
    """Where each input leaves at present, and what raising one threshold would change. Inputs are bits of integers."""

    def __init__(self, record: Record) -> None:
        self.thresholds = [0.0] * record.exits
        self._errors, self._latency = record.errors, record.latency.tolist()
        self._at = [0] * record.exits + [(1 << record.inputs) - 1]
        """The inputs that leave at each exit, then those that leave at none."""
        self._gone = [0] * record.exits
        """The inputs that leave at each exit or before."""
        self._said_wrong = _bits(~record.right)
        self._wrong = 0

    @property
    def wrong(self) -> int:
        """Inputs with a wrong answer."""
        return self._wrong.bit_count()

    def moves(self, exits: Sequence[int], raised: Sequence[float]) -> list[int]:
        """The inputs that would come to leave at each exit if its threshold alone were raised."""
        below = _bits(self._errors[exits] < np.array(raised)[:, None])
        return [bits & ~self._gone[exit_] for exit_, bits in zip(exits, below, strict=True)]

    def saves(self, exit_: int, moves: int) -> float:
        """Latency that these inputs would save."""
        saves = -moves.bit_count() * self._latency[exit_] if moves else 0.0
        for later in range(exit_ + 1, len(self._at)):
            if moved := moves & self._at[later]:
                saves += moved.bit_count() * self._latency[later]
        return saves

    def errs(self, exit_: int, moves: int) -> int:
        """Wrong answers that they would add."""
        return (moves & self._said_wrong[exit_]).bit_count() - (moves & self._wrong).bit_count()

    def raise_to(self, exit_: int, threshold: float, moves: int) -> None:
        """Carry one of them out."""
        self.thresholds[exit_] = threshold
        for later in range(exit_ + 1, len(self._at)):
            self._at[later] &= ~moves
        for place in range(exit_, len(self._gone)):
            self._gone[place] |= moves
        self._at[exit_] |= moves
        self._wrong = (self._wrong & ~moves) | (moves & self._said_wrong[exit_])


def _bits(rows: NDArray[np.bool_]) -> list[int]:
    packed = np.packbits(rows, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]
