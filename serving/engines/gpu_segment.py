"""A segment on a GPU: batches are padded to a few sizes, whose work is recorded once and then handed over whole.

Two things cost more than what a GPU computes in networks as small as those of a camera's objects. At every new size of
batch its library looks for the best way to compute, for a fifth of a second and more; and it is handed operator by
operator, of which a network has a hundred, by a processor that does nothing else meanwhile. So a batch is padded to one
of a few sizes, and what the operators ask of the GPU is recorded for each when a network is loaded (CUDA graphs).

ONNX Runtime replays several recordings of one session with an illegal instruction: each size has a session of its own.
While one thread records, none may ask the GPU for anything, nor open a session there: a lock sees to that. Each thread
that runs a network records it once for itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from serving.common.explain import first_line
from serving.common.tensors import Array, TensorSpec
from serving.engines.execution_device import CHOICE, CPU, ProviderOptions, opened, runtime
from serving.engines.network import interruptible
from serving.engines.session import BoundRun, SessionSegment, run_options, terminate
from serving.errors import SluiceError

if TYPE_CHECKING:
    import onnxruntime as ort
    from onnxruntime import RunOptions

log = logging.getLogger(__name__)

STEP = 4
"""Each size is so many times the one before. Half of it would halve the padding, and double the sessions in memory."""
RECORDED = (1, STEP, STEP**2)
"""Sizes that are run and recorded when a network is loaded; larger ones come late, if at all."""
USE = threading.RLock()
"""A thread holds it while it asks the GPU for something."""
_CLOSE = 1e-3
"""A replay gives what a run gives but for rounding, as a share of the largest value."""


def padded(count: int) -> int:
    """The size to which a batch is padded.

    >>> [padded(count) for count in (1, 2, 4, 5, 16, 17)]
    [1, 4, 4, 16, 16, 64]
    """
    size = 1
    while size < count:
        size *= STEP
    return size


@dataclass(frozen=True, slots=True)
class DeviceBuffers:
    """The memory on the GPU that a segment works on at one size of batch, and the session that does."""

    size: int
    session: Any
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
        with USE:
            self.given.update_inplace(np.ascontiguousarray(batch))

    def told(self, output: int = -1) -> Array:
        """One output, on the host."""
        with USE:
            found: Array = self.found[output].numpy()
        return found


class GpuSegment(SessionSegment):
    """A segment's sessions on a GPU; threads that run it take turns."""

    def __init__(self, opens: Callable[[], ort.InferenceSession], *, records: bool) -> None:
        """``opens``: makes a session, which can record where ``records`` says so."""
        super().__init__(opens())
        self._opens, self.records = opens, records
        """``records``: no longer where a replay was found to give something else."""
        self._buffers: dict[int, DeviceBuffers] = {}
        self._laying = threading.Lock()
        self.is_sized = self.input.sizes_known and all(
            all(isinstance(dim, int) for dim in each.shape[1:]) for each in self._session.get_outputs()
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

    def buffers(self, size: int, given: Any = None) -> DeviceBuffers | None:
        """The memory for batches of this size; ``given``: an input that lies on the GPU already.

        The first time it is laid out, and what is to be recorded is. None where an output is found to have another
        length than the batch.
        """
        known = self._buffers.get(size)
        if known is None or (given is not None and given is not known.given):
            buffers = self._laid_out(size, given)
            if any(each.shape()[:1] != [size] for each in buffers.found):
                self.is_sized = False
                return None
            self._buffers[size] = buffers
            if self._is_recorded(size):
                self._record(buffers)
        return self._buffers[size]

    def launch(self, buffers: DeviceBuffers, options: RunOptions) -> None:
        """Compute the outputs in some buffers from the input there; they are there when this returns."""
        if not self._is_recorded(buffers.size):
            _forgo_recording(options)
        elif options.terminate:  # a replay does not ask
            raise SluiceError("it was ended")
        with USE:
            buffers.session.run_with_iobinding(buffers.binding, options)

    def _run(self, batch: Array, options: RunOptions) -> list[Array]:
        with self._laying:
            buffers = self.buffers(padded(len(batch))) if self.is_sized else None
        with USE:
            if buffers is None:
                return self._unlaid(batch, options)
            buffers.fill(batch)
            self.launch(buffers, options)
            return [buffers.told(output)[: len(batch)] for output in range(len(buffers.found))]

    def _unlaid(self, batch: Array, options: RunOptions) -> list[Array]:
        """A run whose outputs' shapes are not known before."""
        padding = np.zeros((padded(len(batch)) - len(batch), *batch.shape[1:]), batch.dtype)
        whole = np.concatenate([batch, padding]) if len(padding) else batch
        _forgo_recording(options)
        found: list[Array] = self._session.run(None, {self._name: whole}, options)
        return [each[: len(batch)] if each.ndim and len(each) == len(whole) else each for each in found]

    def _laid_out(self, size: int, given: Any) -> DeviceBuffers:
        value, staging = runtime().OrtValue, self.input.blank(size)
        known = self._buffers.get(size)
        if known is not None:  # what it recorded worked on other memory
            session = self._opens() if self._is_recorded(size) else known.session
        else:
            session = self._opens() if self._buffers and self._is_recorded(size) else self._session
        with USE:
            blank = self._unrecorded(session, staging)
            given = value.ortvalue_from_numpy(staging, "cuda", CHOICE.index) if given is None else given
            found = [value.ortvalue_from_shape_and_type(each.shape, each.dtype, "cuda", CHOICE.index) for each in blank]
            binding = session.io_binding()
            binding.bind_ortvalue_input(self._name, given)
            for name, each in zip(self._outputs, found, strict=True):
                binding.bind_ortvalue_output(name, each)
            return DeviceBuffers(size, session, given, found, binding, staging)

    def _is_recorded(self, size: int) -> bool:
        return self.records and size in RECORDED

    def _record(self, buffers: DeviceBuffers) -> None:
        """Record the work at one size, unless a replay does not give what a run gives."""
        chance = np.random.default_rng(buffers.size)
        try:
            with USE:
                self.launch(buffers, run_options())
                items = _noise(chance, self.input, buffers.size)
                buffers.fill(items)
                self.launch(buffers, run_options())
                expected = self._unrecorded(buffers.session, items)
                found = [buffers.told(output) for output in range(len(buffers.found))]
        except Exception as error:  # the runtime's exceptions share no base but Exception
            log.info("a network's work on the GPU is not recorded: %s", first_line(error))
            self.records = False
        else:
            self.records = all(map(_alike, found, expected))

    def _unrecorded(self, session: Any, batch: Array) -> list[Array]:
        options = run_options()
        _forgo_recording(options)
        outputs: list[Array] = session.run(None, {self._name: batch}, options)
        return outputs


def gpu_segment(
    name: str, graph: bytes, options: ort.SessionOptions, wanted: Sequence[ProviderOptions]
) -> SessionSegment:
    """Open a segment on the GPU, recorded where that can be; on the processor where the GPU does not take it.

    Raises as ``execution_device.opened``.
    """
    (provider, settings), *others = wanted
    recording = [(provider, {**settings, "enable_cuda_graph": "1"}), *others]
    try:
        opens = partial(runtime().InferenceSession, graph, options, providers=recording, enable_fallback=0)
        segment = GpuSegment(partial(_alone, opens), records=True)
        if segment.is_sized and segment.buffers(1) is not None and segment.records:
            return segment
    except Exception as error:  # the runtime's exceptions share no base but Exception
        log.info("model %s: its work on the GPU is not recorded: %s", name, first_line(error))
    session = _alone(partial(opened, name, graph, options, wanted))
    return SessionSegment(session) if session.get_providers()[0] == CPU else GpuSegment(lambda: session, records=False)


def _alone(opens: Callable[[], ort.InferenceSession]) -> ort.InferenceSession:
    """Open a session while no thread records: that it asks the GPU for memory would fail, and end the recording."""
    with USE:
        return opens()


def _forgo_recording(options: RunOptions) -> None:
    """The run neither records nor replays."""
    options.add_run_config_entry("gpu_graph_id", "-1")


def _noise(chance: np.random.Generator, spec: TensorSpec, size: int) -> Array:
    shape = spec.blank(size).shape
    if np.issubdtype(spec.dtype, np.integer):
        return chance.integers(0, 127, shape).astype(spec.dtype)
    return chance.uniform(0, 1, shape).astype(spec.dtype)


def _alike(one: Array, other: Array) -> bool:
    if one.shape != other.shape:
        return False
    most = float(np.abs(other.astype(np.float64)).max(initial=0.0))
    return bool(np.abs(one.astype(np.float64) - other).max(initial=0.0) <= _CLOSE * max(most, 1e-6))
