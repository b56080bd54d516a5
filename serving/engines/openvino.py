"""OpenVINO: bf16 and int8 on processors that have instructions for them; an extra, imported when first used."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any, cast

import numpy as np

from serving.common.libraries import silent
from serving.common.precision import Precision
from serving.common.tensors import Array, TensorSpec
from serving.engines.engine import Engine
from serving.errors import ModelError

# The runtime would choose bf16 by itself where it can. A quantised network's graph says what is int8.
_HINTS: dict[Precision, str] = {"fp32": "f32", "bf16": "bf16", "int8": "f32"}


class OpenVinoEngine(Engine):
    """Segments as ONNX models, compiled for the CPU at the precision asked for and no other."""

    def __init__(self, name: str, *, threads: int, precision: Precision = "fp32") -> None:
        super().__init__(name)
        try:
            self._core = _core()
        except ImportError as error:
            raise ModelError(f"model {name!r}: OpenVINO is not here: pip install 'sluice-video[openvino]'") from error
        self._hint = _HINTS[precision]
        # One stream: engines divide work by batches, and threads serve one of them at a time. Pinned threads of
        # several networks would all lie on the same cores.
        self._properties: dict[str, Any] = {
            "INFERENCE_PRECISION_HINT": self._hint,
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,
        }

    def _open(self, segment: bytes) -> OpenVinoSegment:
        # Batch axes stay dynamic: a copy compiled for each size of batch would spare small networks a share of their
        # short run, but each would take twice the weights in memory again.
        compiled = self._core.compile_model(self._core.read_model(segment), "CPU", self._properties)
        used = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if used != self._hint:
            raise ModelError(f"this processor does not compute in {self._hint} (OpenVINO would take {used})")
        return OpenVinoSegment(compiled)


class OpenVinoSegment:
    """A compiled model and its idle infer requests, of which every run takes one for itself."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self._idle: list[Any] = []
        if len(compiled.inputs) != 1:
            names = ", ".join(each.any_name for each in compiled.inputs)
            raise ModelError(f"must have one input; has {len(compiled.inputs)}: {names}")
        only = compiled.inputs[0]
        shape = tuple(None if dim.is_dynamic else dim.get_length() for dim in only.get_partial_shape())
        self.input = TensorSpec(np.dtype(only.get_element_type().to_dtype()), shape)

    def run(self, batch: Array) -> list[Array]:
        """Outputs in the graph's order."""
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        found = request.infer({0: np.ascontiguousarray(batch)}, share_inputs=True)
        outputs = [found[index] for index in range(len(found))]
        self._idle.append(request)
        return outputs


def import_openvino() -> ModuleType:
    """The package; importing it reports to its makers and leaves an id at home, unless the part that does is missing.

    ImportError where it is not installed.
    """
    with silent():
        import openvino

    return cast(ModuleType, openvino)


@cache
def _core() -> Any:
    core = import_openvino().Core()
    # Loads the plugin now: its own memory is not the first network's.
    core.get_property("CPU", "FULL_DEVICE_NAME")
    return core
