"""A network with exits: it runs segment by segment, and each row of a batch goes the way that its policy says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from serving.common.tensors import Array
from serving.engines.chain import joined
from serving.engines.groups import GroupRequest, together
from serving.engines.onnxruntime import BoundRun, OnnxRuntimeEngine
from serving.engines.row_passage import RowPassage
from serving.errors import ModelError

if TYPE_CHECKING:
    import onnx
    from onnxruntime import RunOptions


class ExitNetwork:
    """Segments in ONNX Runtime; activations stay in buffers that are kept from batch to batch.

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
        self._handed, self._taps, self._scores = self._tried()
        """The arrays between segments (the input first), the taps, the network's output: as large as a batch was."""
        self._runs: dict[tuple[int, int], BoundRun] = {}
        """By segment and number of rows."""

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
        """Resident memory of the engine and of the arrays."""
        return self._engine.memory_bytes() + sum(each.nbytes for each in (*self._handed, *self._taps, self._scores))

    def close(self) -> None:
        self._runs.clear()
        self._engine.close()

    def _part(self, batch: Array, start: int, passage: RowPassage) -> list[Array]:
        """The scores and taps of some rows of the passage, of which ``start`` is the first."""
        count = len(batch)
        there, taps = list(range(start, start + count)), list[Array]()
        self._make_room(count)
        self._handed[0][:count] = batch
        with self._engine.one_run() as options:
            for cut, tap in enumerate(self._taps):
                self._through(cut, len(there), options)
                taps.append(_spread(tap[: len(there)], there, start, count))
                leaving = passage.hear(cut, there, tap[: len(there)])
                if leaving is not None:
                    there = _closed_up(leaving, there, self._handed[cut + 1])
            self._through(len(self._cuts), len(there), options)
        return [_spread(self._scores[: len(there)], there, start, count), *taps]

    def _through(self, index: int, rows: int, options: RunOptions) -> None:
        """Run a segment of the rows that lie first in the array before it, unless there is none."""
        if not rows:
            return
        key = index, rows
        if key not in self._runs:
            last = index == len(self._taps)
            outputs = [self._scores] if last else [self._handed[index + 1], self._taps[index]]
            self._runs[key] = self._engine.bound(index, self._handed[index][:rows], [each[:rows] for each in outputs])
        self._runs[key](options)

    def _make_room(self, count: int) -> None:
        """Arrays as large as the largest batch, which ``batch_limit`` and the backend bound."""
        if count <= len(self._scores):
            return
        self._runs.clear()
        self._handed = [_larger(each, count) for each in self._handed]
        self._taps = [_larger(each, count) for each in self._taps]
        self._scores = _larger(self._scores, count)

    def _tried(self) -> tuple[list[Array], list[Array], Array]:
        """Run one row, to see how large the arrays must be."""
        handed, taps = [self._engine.inputs[0].blank()], list[Array]()
        for index in range(len(self._cuts)):
            activation, tap = self._engine.run(index, handed[-1])
            handed.append(activation)
            taps.append(tap)
        return handed, taps, self._engine.run(len(taps), handed[-1])[0]


def _larger(array: Array, count: int) -> Array:
    return np.empty((count, *array.shape[1:]), array.dtype)


def _closed_up(leaving: Sequence[bool], there: list[int], activations: Array) -> list[int]:
    """Who is still there when some leave, and their activations first: the last take the places of those who left.

    Changes both arrays.
    """
    staying = leaving.count(False)
    holes = [at for at in range(staying) if leaving[at]]
    last = [at for at in range(staying, len(there)) if not leaving[at]]
    for hole, row in zip(holes, last, strict=True):
        activations[hole], there[hole] = activations[row], there[row]
    return there[:staying]


def _spread(rows: Array, there: Sequence[int], start: int, count: int) -> Array:
    """The rows at their places among so many from ``start`` on, in an array of their own; zeros elsewhere."""
    if len(rows) == count:
        return rows.copy()
    whole = np.zeros((count, *rows.shape[1:]), rows.dtype)
    whole[[row - start for row in there]] = rows
    return whole
