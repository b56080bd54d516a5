"""ONNX Runtime: the default engine, on the CPU, on CUDA or TensorRT where its GPU build is installed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from serving.common.explain import first_line
from serving.common.precision import Precision
from serving.common.silence import silent
from serving.common.tensors import Array, TensorSpec
from serving.engines.chain import SegmentChain
from serving.engines.execution_device import CPU, opened, providers
from serving.engines.network import interruptible
from serving.engines.optimised_cuts import cut_when_optimised
from serving.errors import ModelError, SluiceError

with silent():
    import onnxruntime as ort
    from onnxruntime import RunOptions

if TYPE_CHECKING:
    import onnx

log = logging.getLogger(__name__)

BoundRun = Callable[[RunOptions], None]
"""Runs a segment from an array into others."""

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(uint8)": "uint8",
    "tensor(int8)": "int8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
}


class OnnxRuntimeEngine(SegmentChain):
    """Segments as ONNX models in ONNX Runtime sessions; int8 networks come quantised, as graphs of Q and DQ nodes."""

    def __init__(self, name: str, *, threads: int, precision: Precision = "fp32") -> None:
        if precision == "bf16":
            raise ModelError(f"model {name!r}: ONNX Runtime computes in fp32 or int8; bf16 needs OpenVINO")
        super().__init__(name)
        self._threads, self._providers = threads, providers(precision)
        self._may_cut = precision == "fp32" and [name for name, _ in self._providers] == [CPU]
        self._optimised = False

    def load(self, segments: Sequence[bytes]) -> None:
        """See ``Engine``; on CPUs what is handed over between segments is in the runtime's own order."""
        if len(segments) > 1 and self._may_cut and (better := optimised_segments(segments)):
            self._optimised, segments = True, better
        super().load(segments)

    def _open(self, segment: bytes) -> OnnxRuntimeSegment:
        options = session_options(self._threads)
        if self._optimised:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return OnnxRuntimeSegment(opened(self._name, segment, options, self._providers))

    @contextmanager
    def one_run(self) -> Iterator[RunOptions]:
        """The options with which segments of one batch are run: another thread can end all of them by ``interrupt``."""
        options = _run_options()
        with interruptible(partial(_terminate, options)):
            yield options

    def bound(self, segment: int, batch: Array, outputs: Sequence[Array]) -> BoundRun:
        """Runs one segment from an array into others, in its graph's order, as often as it is called.

        All lie whole in memory and have the segment's shapes and types. A run checks and copies nothing; SluiceError
        where the network fails.
        """
        opened, what = self._segments[segment], self._what(segment, len(self._segments))
        assert isinstance(opened, OnnxRuntimeSegment)
        run = opened.bound(batch, outputs)

        def checked(options: RunOptions) -> None:
            try:
                run(options)
            except Exception as error:  # the runtime's exceptions share no base but Exception
                raise SluiceError(f"{what} failed: {first_line(error)}") from error

        return checked


class OnnxRuntimeSegment:
    """One session; ``run`` is safe from several threads by the runtime's own word."""

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        inputs = session.get_inputs()
        if len(inputs) != 1:
            raise ModelError(f"must have one input; has {len(inputs)}: {', '.join(each.name for each in inputs)}")
        if inputs[0].type not in _DTYPES:
            raise ModelError(f"input is {inputs[0].type}; must be one of {', '.join(_DTYPES)}")
        self._name = inputs[0].name
        self._outputs = [each.name for each in session.get_outputs()]
        shape = tuple(dim if isinstance(dim, int) else None for dim in inputs[0].shape)
        self.input = TensorSpec(np.dtype(_DTYPES[inputs[0].type]), shape)

    def run(self, batch: Array) -> list[Array]:
        """Outputs in the graph's order."""
        options = _run_options()
        with interruptible(partial(_terminate, options)):
            outputs: list[Array] = self._session.run(None, {self._name: batch}, options)
        return outputs

    def bound(self, batch: Array, outputs: Sequence[Array]) -> BoundRun:
        """Runs it from an array into others."""
        binding = self._session.io_binding()
        binding.bind_input(self._name, "cpu", 0, batch.dtype.type, batch.shape, batch.ctypes.data)
        for name, array in zip(self._outputs, outputs, strict=True):
            binding.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

        def run(options: RunOptions) -> None:
            self._session.run_with_iobinding(binding, options)

        return run


def _run_options() -> RunOptions:
    options = RunOptions()
    options.log_severity_level = 4  # what fails is raised
    # A bound run asks for this entry. Where it is missing the runtime throws and catches, in every run.
    options.add_run_config_entry("gpu_graph_id", "0")  # the default
    return options


def _terminate(options: RunOptions) -> None:
    """The run ends before its next operator, in a loop before its next round."""
    options.terminate = True


def optimised_segments(segments: Sequence[bytes]) -> list[bytes] | None:
    """The segments cut out of the optimised whole; None where that cannot be done."""
    try:
        return cut_when_optimised(segments, _optimised, _shapes)
    except Exception as error:  # the runtime's share no base; a wrong network is reported when it is opened as it is
        log.info("segments are optimised one by one, not as a whole: %s", first_line(error))
        return None


def _optimised(model: bytes) -> bytes:
    with TemporaryDirectory(prefix="sluice-") as folder:
        options = session_options(1)
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        ort.InferenceSession(model, options, providers=[CPU])
        return Path(options.optimized_model_filepath).read_bytes()


def _shapes(model: onnx.ModelProto, tensors: Sequence[str]) -> dict[str, Sequence[int]]:
    import onnx

    declared = model.graph.output
    declared.extend(onnx.helper.make_empty_tensor_value_info(name) for name in tensors)
    graph = model.SerializeToString()
    del declared[-len(tensors) :]
    options = session_options(1)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(graph, options, providers=[CPU])
    first = OnnxRuntimeSegment(session)
    item = first.input.blank()
    outputs = session.run(list(tensors), {session.get_inputs()[0].name: item})
    return {name: output.shape for name, output in zip(tensors, outputs, strict=True)}


def session_options(threads: int) -> ort.SessionOptions:
    """All graph optimisations (weights stored as float16 are folded to float32 once, here)."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # What a run works with is given back after it: many networks share it, and a network keeps what was measured when
    # it was loaded, however large its batches become.
    options.enable_cpu_mem_arena = False
    # A session's threads sleep between operators: threads that spin take the cores from decoders, from Python and from
    # other sessions, and cost processor time that no result needs (``benchmarks/spinning.py``).
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options
