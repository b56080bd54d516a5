"""One ONNX Runtime session as a segment, the options that sessions are opened and run with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from serving.common.libraries import silent
from serving.common.tensors import Array, TensorSpec
from serving.engines.network import interruptible
from serving.errors import ModelError

with silent():
    import onnxruntime as ort
    from onnxruntime import RunOptions

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


class SessionSegment:
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
        options = run_options()
        with interruptible(partial(terminate, options)):
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


def run_options() -> RunOptions:
    """Those of one run; what fails is raised and not printed."""
    options = RunOptions()
    options.log_severity_level = 4
    # A bound run asks for this entry. Where it is missing the runtime throws and catches, in every run.
    options.add_run_config_entry("gpu_graph_id", "0")  # the default
    return options


def terminate(options: RunOptions) -> None:
    """The run ends before its next operator, in a loop before its next round."""
    options.terminate = True


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
