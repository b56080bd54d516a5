"""The rows of a batch between the segments of a network with exits, as far as it has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from serving.common.tensors import Array

if TYPE_CHECKING:
    from onnxruntime import RunOptions

    from serving.engines.onnxruntime import OnnxRuntimeEngine
    from serving.engines.session import BoundRun


class Activations(Protocol):
    """The rows that are on their way; used by the device's thread alone."""

    def enter(self, batch: Array) -> None:
        """A batch begins."""
        ...

    def through(self, segment: int, rows: int, options: RunOptions) -> Array:
        """Run one segment of so many rows, which are all that have not left.

        Returns its tap, of the last segment the network's output; valid until the segment is run again.
        """
        ...

    def leave(self, segment: int, leaving: Sequence[bool], there: list[int]) -> list[int]:
        """Some rows go no further than a segment. Returns who is still there, in the order in which they lie now."""
        ...

    def memory_bytes(self) -> int:
        """Resident memory of what is kept from batch to batch, beside the engine's."""
        ...


class HostActivations:
    """In arrays that are kept from batch to batch, as large as the largest was; rows lie first in them."""

    def __init__(self, engine: OnnxRuntimeEngine) -> None:
        """``engine``: loaded; runs one row, to see how large the arrays must be."""
        self._engine = engine
        self._handed, self._taps = [engine.inputs[0].blank()], list[Array]()
        """The arrays between segments, the input first; and the taps."""
        for index in range(len(engine.inputs) - 1):
            activation, tap = engine.run(index, self._handed[-1])
            self._handed.append(activation)
            self._taps.append(tap)
        self._scores = engine.run(len(self._taps), self._handed[-1])[0]
        self._runs: dict[tuple[int, int], BoundRun] = {}
        """By segment and number of rows."""

    def enter(self, batch: Array) -> None:
        self._make_room(len(batch))
        self._handed[0][: len(batch)] = batch

    def through(self, segment: int, rows: int, options: RunOptions) -> Array:
        last = segment == len(self._taps)
        told = self._scores if last else self._taps[segment]
        if rows:
            if (segment, rows) not in self._runs:
                outputs = [told] if last else [self._handed[segment + 1], told]
                bound = self._engine.bound(segment, self._handed[segment][:rows], [each[:rows] for each in outputs])
                self._runs[segment, rows] = bound
            self._runs[segment, rows](options)
        return told[:rows]

    def leave(self, segment: int, leaving: Sequence[bool], there: list[int]) -> list[int]:
        """The last rows take the places of those who left."""
        activations, staying = self._handed[segment + 1], leaving.count(False)
        holes = [at for at in range(staying) if leaving[at]]
        last = [at for at in range(staying, len(there)) if not leaving[at]]
        for hole, row in zip(holes, last, strict=True):
            activations[hole], there[hole] = activations[row], there[row]
        return there[:staying]

    def memory_bytes(self) -> int:
        return sum(each.nbytes for each in (*self._handed, *self._taps, self._scores))

    def _make_room(self, count: int) -> None:
        """Arrays as large as the largest batch, which ``batch_limit`` and the backend bound."""
        if count <= len(self._scores):
            return
        self._runs.clear()
        self._handed = [_larger(each, count) for each in self._handed]
        self._taps = [_larger(each, count) for each in self._taps]
        self._scores = _larger(self._scores, count)


def _larger(array: Array, count: int) -> Array:
    return np.empty((count, *array.shape[1:]), array.dtype)
