"""A network with exits: a batch runs segment by segment, and items that are answered leave it, or their answers do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from serving.common.tensors import Array
from serving.engines.exits import Answering, ExitOutputs, Exits
from serving.engines.onnxruntime import BoundRun, OnnxRuntimeEngine
from serving.errors import ModelError

if TYPE_CHECKING:
    import onnx
    from onnxruntime import RunOptions

Tell = Callable[[NDArray[np.intp], list[Array]], None]
"""Takes the places of some items in their batch, and their ``ExitOutputs`` so far as a list; called on the way."""


class ExitNetwork:
    """Segments in ONNX Runtime; activations stay in buffers that are kept from batch to batch.

    It keeps to the contract of ``Network``. Only the device's thread runs it.
    """

    def __init__(
        self,
        name: str,
        segments: Sequence[onnx.ModelProto],
        exits: Exits,
        engine: OnnxRuntimeEngine,
        max_batch: int | None = None,
        first: int = 0,
    ) -> None:
        """``segments`` as ``graphs.taps.tapped`` makes them for the cuts of ``exits``. Raises ModelError.

        ``first``: the segment that batches begin with, where another network runs those before it: exits before it are
        left out.
        """
        self._name, self._engine, self._exits, self._first = name, engine, exits, first
        self._before = len(exits.cuts) + 1 - (len(segments) - first)
        if self._before < 0 or (self._before and not first):
            raise ModelError(f"model {name!r}: {len(exits.cuts)} exits need one segment more, not {len(segments)}")
        self._cuts = exits.cuts[self._before :]
        engine.load([segment.SerializeToString() for segment in segments])
        fixed = segments[0].graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1
        self.batch_limit = 1 if fixed else max_batch
        self._handed, self._taps, self._scores = self._tried()
        """The arrays between segments (the input first), the taps, the network's output: as large as a batch was."""
        self._runs: dict[tuple[int, int], BoundRun] = {}
        """By segment and number of items."""

    def check(self, batch: Array) -> None:
        """Raise ModelError where shape or type is not the graph's, or where there is no item."""
        self._engine.inputs[self._first].check(batch, f"model {self._name!r}")
        if not len(batch):
            raise ModelError(f"model {self._name!r} was given an empty batch")

    def run(self, batch: Array, tell: Tell | None = None) -> list[Array]:
        """``ExitOutputs`` as a list; ``tell``: where answers are released, is told of items as they are answered."""
        now = self._exits.begun()
        self._make_room(len(batch))
        self._handed[0][: len(batch)] = batch
        with self._engine.one_run() as options:
            return self._outputs(len(batch), now, options, tell).as_list()

    def _outputs(self, count: int, now: Answering, options: RunOptions, tell: Tell | None) -> ExitOutputs:
        if not now.by_cut:
            return self._unasked(count, now.version, options)
        if self._exits.releases:
            return self._released(count, now, options, tell)
        return self._answered(count, now, options)

    def _unasked(self, count: int, version: int, options: RunOptions) -> ExitOutputs:
        """The outputs where no exit answers, with all taps."""
        for index in range(len(self._taps) + 1):
            self._through(index, count, options)
        place = np.full(count, len(self._exits.cuts), np.int32)
        return self._whole(place, np.zeros((count, 0), np.float32), version)

    def _released(self, count: int, now: Answering, options: RunOptions, tell: Tell | None) -> ExitOutputs:
        """The outputs where some answer and all items run to the end, with all taps."""
        place = np.full(count, len(self._exits.cuts), np.int32)
        said = np.zeros((count, now.classes), np.float32)
        for index, cut in enumerate(self._cuts):
            self._through(index, count, options)
            exit_, waiting = now.by_cut.get(cut), np.flatnonzero(place == len(self._exits.cuts))
            if exit_ is None or not len(waiting):
                continue
            found = exit_.look(self._taps[index][waiting])
            who = waiting[found.hit]
            place[who], said[who] = self._before + index, found.distribution[found.hit]
            if tell is not None and len(who):
                tell(who, self._so_far(place[who], said[who], now.version).as_list())
        self._through(len(self._cuts), count, options)
        return self._whole(place, said, now.version)

    def _so_far(self, place: NDArray[np.int32], said: NDArray[np.float32], version: int) -> ExitOutputs:
        """The outputs of items that are answered, as long as the network runs on."""
        count = len(place)
        scores = np.zeros((count, *self._scores.shape[1:]), self._scores.dtype)
        return ExitOutputs(scores, place, np.full(count, version, np.int32), said, self._no_taps(count))

    def _whole(self, place: NDArray[np.int32], said: NDArray[np.float32], version: int) -> ExitOutputs:
        """The outputs where the network has run to its end for all items."""
        count = len(place)
        taps = [*self._no_taps(count)[: self._before], *(tap[:count].copy() for tap in self._taps)]
        return ExitOutputs(self._scores[:count].copy(), place, np.full(count, version, np.int32), said, taps)

    def _no_taps(self, count: int) -> list[NDArray[np.float32]]:
        return [np.zeros((count, 0), np.float32) for _ in self._exits.cuts]

    def _answered(self, count: int, now: Answering, options: RunOptions) -> ExitOutputs:
        """The outputs where some answer, without taps."""
        place = np.full(count, len(self._exits.cuts), np.int32)
        said = np.zeros((count, now.classes), np.float32)
        left: NDArray[np.intp] | None = None  # all
        items = count
        for index, cut in enumerate(self._cuts):
            if not items:
                break
            self._through(index, items, options)
            exit_ = now.by_cut.get(cut)
            if exit_ is None:
                continue
            found = exit_.look(self._taps[index][:items])
            if found.hit.any():
                staying = np.flatnonzero(~found.hit)
                leaving = np.flatnonzero(found.hit)
                who = leaving if left is None else left[leaving]
                place[who], said[who] = self._before + index, found.distribution[leaving]
                left = staying if left is None else left[staying]
                items = len(left)
                self._handed[index + 1][:items] = self._handed[index + 1][staying]
        if items:
            self._through(len(self._cuts), items, options)
        scores = _spread(self._scores[:items], left, count)
        return ExitOutputs(scores, place, np.full(count, now.version, np.int32), said, self._no_taps(count))

    def memory_bytes(self) -> int:
        """Resident memory of the engine and of the arrays."""
        return self._engine.memory_bytes() + sum(each.nbytes for each in (*self._handed, *self._taps, self._scores))

    def close(self) -> None:
        self._runs.clear()
        self._engine.close()

    def _through(self, index: int, items: int, options: RunOptions) -> None:
        """Run a segment of the items that lie first in the array before it."""
        key = index, items
        if key not in self._runs:
            last = index == len(self._taps)
            outputs = [self._scores] if last else [self._handed[index + 1], self._taps[index]]
            arrays = [each[:items] for each in outputs]
            self._runs[key] = self._engine.bound(self._first + index, self._handed[index][:items], arrays)
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
        """Run one item, to see how large the arrays must be."""
        handed = [self._engine.inputs[self._first].blank()]
        taps = []
        for index in range(len(self._cuts)):
            activation, tap = self._engine.run(self._first + index, handed[-1])
            handed.append(activation)
            taps.append(tap)
        return handed, taps, self._engine.run(self._first + len(taps), handed[-1])[0]


def _larger(array: Array, count: int) -> Array:
    return np.empty((count, *array.shape[1:]), array.dtype)


def _spread(rows: Array, left: NDArray[np.intp] | None, count: int) -> Array:
    """The rows of items that are left among those of all, in an array of their own; zeros for the others."""
    if left is None:
        return rows.copy()
    whole = np.zeros((count, *rows.shape[1:]), rows.dtype)
    whole[left] = rows
    return whole
