"""A network with exits: it runs segment by segment, and each row of a batch goes the way that its policy says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from serving.common.tensors import Array
from serving.engines.engine import joined
from serving.engines.groups import GroupRequest, together
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.engines.row_passage import RowPassage
from serving.errors import ModelError

if TYPE_CHECKING:
    import onnx
    from onnxruntime import RunOptions

    from serving.engines.session import BoundRun


class ExitNetwork:
    """Segments in ONNX Runtime.

    A ``Group`` of one network, whose outputs are ``ExitResult`` as a list. Only the device's thread runs it.
    """

    def __init__(
        self,
        name: str,
        segments: Sequence[onnx.ModelProto],
        cuts: Sequence[str],
        engine: OnnxRuntimeEngine,
        max_batch: int | None = None,
    ) -> None:
        """``segments`` as ``graphs.taps.tapped`` makes them for the cuts; raises ModelError."""
        if len(segments) != len(cuts) + 1:
            raise ModelError(f"model {name!r}: {len(cuts)} cuts make one segment more, not {len(segments)}")
        self._name, self._engine, self._cuts = name, engine, tuple(cuts)
        engine.load([segment.SerializeToString() for segment in segments])
        fixed = segments[0].graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1
        self.batch_limit = 1 if fixed else max_batch
        self._activations = _activations(engine)

    def check(self, model: str, batch: Array) -> None:
        """Raise ModelError where shape or type is not the graph's, or where there is no row."""
        self._engine.inputs[0].check(batch, f"model {self._name!r}")
        if not len(batch):
            raise ModelError(f"model {self._name!r} was given an empty batch")

    def run(self, asked: Sequence[GroupRequest], step: int) -> list[list[Array]]:
        """All requests as one batch."""
        batch = together([each.batch for each in asked])
        passage = RowPassage(asked, self._cuts)
        parts = [self._part(batch[start : start + step], start, passage) for start in range(0, len(batch), step)]
        scores, *taps = (joined(column) for column in zip(*parts, strict=True))
        return passage.results(scores, taps)

    def memory_bytes(self) -> int:
        """Resident memory of the engine and of what lies between segments."""
        return self._engine.memory_bytes() + self._activations.memory_bytes()

    def close(self) -> None:
        self._engine.close()

    def _part(self, batch: Array, start: int, passage: RowPassage) -> list[Array]:
        """The scores and taps of some rows of the passage, of which ``start`` is the first."""
        count, rows = len(batch), self._activations
        there, taps = list(range(start, start + count)), list[Array]()
        rows.enter(batch)
        with self._engine.one_run() as options:
            for cut in range(len(self._cuts)):
                tap = rows.through(cut, len(there), options)
                taps.append(_spread(tap, there, start, count))
                leaving = passage.hear(cut, there, tap)
                if leaving is not None:
                    there = rows.leave(cut, leaving, there)
            scores = rows.through(len(self._cuts), len(there), options)
        return [_spread(scores, there, start, count), *taps]


def _activations(engine: OnnxRuntimeEngine) -> Activations:
    """On the GPU where all segments run there."""
    if not (segments := engine.gpu_segments()):
        return HostActivations(engine)
    from serving.engines.gpu_activations import GpuActivations

    return GpuActivations(segments, engine.warmed())


def _spread(rows: Array, there: Sequence[int], start: int, count: int) -> Array:
    """The rows at their places among so many from ``start`` on, in an array of their own; zeros elsewhere."""
    if len(rows) == count:
        return rows.copy()
    whole = np.zeros((count, *rows.shape[1:]), rows.dtype)
    whole[[row - start for row in there]] = rows
    return whole


class Activations(Protocol):
    """The rows that are on their way; used by the device's thread alone."""

    def enter(self, batch: Array) -> None:
        """A batch begins."""

    def through(self, segment: int, rows: int, options: RunOptions) -> Array:
        """Run one segment of so many rows, which are all that have not left.

        Returns its tap, of the last segment the network's output; valid until the segment is run again.
        """

    def leave(self, segment: int, leaving: Sequence[bool], there: list[int]) -> list[int]:
        """Some rows go no further than a segment. Returns who is still there, in the order in which they lie now."""

    def memory_bytes(self) -> int:
        """Resident memory of what is kept from batch to batch, beside the engine's."""


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
