"""A network with exits: it runs segment by segment, and each row of a batch goes the way that its policy says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from serving.common.tensors import Array
from serving.engines.activations import Activations, HostActivations
from serving.engines.chain import joined
from serving.engines.groups import GroupRequest, together
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.engines.row_passage import RowPassage
from serving.errors import ModelError

if TYPE_CHECKING:
    import onnx


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
