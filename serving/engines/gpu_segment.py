"""A segment on a GPU: batches are padded to a few sizes, each of which has its own place in the GPU's memory.

At every new size of batch a GPU's library looks for the best way to compute, for a fifth of a second and more. So a
batch is padded to the next power of two: a GPU takes hardly longer for it, and the sizes are run before requests come.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from serving.common.tensors import Array
from serving.engines.execution_device import CHOICE, CPU, ProviderOptions, opened, runtime
from serving.engines.network import interruptible
from serving.engines.session import BoundRun, SessionSegment, run_options, terminate

if TYPE_CHECKING:
    import onnxruntime as ort
    from onnxruntime import RunOptions

WARMED = (1, 2, 4, 8, 16)
"""Sizes that are run when a network is loaded; larger ones come late, if at all."""


def padded(count: int) -> int:
    """The size to which a batch is padded.

    >>> [padded(count) for count in (1, 2, 3, 5, 16, 17)]
    [1, 2, 4, 8, 16, 32]
    """
    return 1 << (count - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Lane:
    """The memory on the GPU that a segment works on at one size of batch."""

    size: int
    given: Any
    """Its input, an ``OrtValue``."""
    found: Sequence[Any]
    """Its outputs."""
    binding: Any
    staging: Array
    """On the host: a batch with its padding."""

    def fill(self, batch: Array) -> None:
        """Put rows first; behind them lies what was there before."""
        if len(batch) < self.size:
            self.staging[: len(batch)] = batch
            batch = self.staging
        self.given.update_inplace(np.ascontiguousarray(batch))


class GpuSegment(SessionSegment):
    """One session on a GPU; threads that run it take turns."""

    def __init__(self, session: ort.InferenceSession) -> None:
        super().__init__(session)
        self._lock = threading.Lock()
        self._lanes: dict[int, Lane] = {}
        self.has_lanes = self.input.sizes_known and all(
            all(isinstance(dim, int) for dim in each.shape[1:]) for each in session.get_outputs()
        )
        """Whether the shapes of all that it works on follow from the size of the batch."""

    def run(self, batch: Array) -> list[Array]:
        """Outputs in the graph's order."""
        options = run_options()
        with interruptible(partial(terminate, options)):
            return self._run(batch, options)

    def bound(self, batch: Array, outputs: Sequence[Array]) -> BoundRun:
        """Runs it from an array into others, by way of the GPU's memory."""

        def run(options: RunOptions) -> None:
            for output, found in zip(outputs, self._run(batch, options), strict=True):
                output[...] = found

        return run

    def lane(self, size: int, given: Any = None) -> Lane | None:
        """The memory for batches of this size; ``given``: an input that lies on the GPU already.

        The first time it is laid out. None where an output is found to have another length than the batch.
        """
        known = self._lanes.get(size)
        if known is None or (given is not None and given is not known.given):
            lane = self._laid_out(size, given)
            if any(each.shape()[:1] != [size] for each in lane.found):
                self.has_lanes = False
                return None
            self._lanes[size] = lane
        return self._lanes[size]

    def launch(self, lane: Lane, options: RunOptions) -> None:
        """Compute the outputs of a lane from its input; they are there when this returns."""
        self._session.run_with_iobinding(lane.binding, options)

    def _run(self, batch: Array, options: RunOptions) -> list[Array]:
        with self._lock:
            lane = self.lane(padded(len(batch))) if self.has_lanes else None
            if lane is None:
                return self._plain(batch, options)
            lane.fill(batch)
            self.launch(lane, options)
            return [each.numpy()[: len(batch)] for each in lane.found]

    def _plain(self, batch: Array, options: RunOptions) -> list[Array]:
        """A run whose outputs' shapes are not known before."""
        padding = np.zeros((padded(len(batch)) - len(batch), *batch.shape[1:]), batch.dtype)
        whole = np.concatenate([batch, padding]) if len(padding) else batch
        found: list[Array] = self._session.run(None, {self._name: whole}, options)
        return [each[: len(batch)] if each.ndim and len(each) == len(whole) else each for each in found]

    def _laid_out(self, size: int, given: Any) -> Lane:
        staging = self.input.blank(size)
        value = runtime().OrtValue
        given = value.ortvalue_from_numpy(staging, "cuda", CHOICE.index) if given is None else given
        options = run_options()
        blank = self._session.run(None, {self._name: staging}, options)
        found = [value.ortvalue_from_shape_and_type(each.shape, each.dtype, "cuda", CHOICE.index) for each in blank]
        binding = self._session.io_binding()
        binding.bind_ortvalue_input(self._name, given)
        for name, each in zip(self._outputs, found, strict=True):
            binding.bind_ortvalue_output(name, each)
        return Lane(size, given, found, binding, staging)


def gpu_segment(
    name: str, graph: bytes, options: ort.SessionOptions, wanted: Sequence[ProviderOptions]
) -> SessionSegment:
    """Open a segment on the GPU, or on the processor where the GPU does not take it.

    Raises as ``execution_device.opened``.
    """
    session = opened(name, graph, options, wanted)
    return SessionSegment(session) if session.get_providers()[0] == CPU else GpuSegment(session)
