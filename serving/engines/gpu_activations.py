"""The activations of a network with exits that runs on a GPU: they stay in the GPU's memory from segment to segment.

Only taps come to the host, for the exits there. Rows that have left stay in their places, unseen, until those who are
still there fit into a smaller size of batch: a GPU takes as long for fewer rows of the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from serving.common.tensors import Array
from serving.engines.execution_device import CHOICE, providers, runtime, used_bytes
from serving.engines.gpu_segment import USE, DeviceBuffers, GpuSegment, padded
from serving.engines.session import run_options, session_options

if TYPE_CHECKING:
    from onnxruntime import RunOptions


class GpuActivations:
    """The buffers of all segments, the output of each being the input of the next."""

    def __init__(self, segments: Sequence[GpuSegment], warmed: Sequence[int]) -> None:
        """``segments``: all are sized; each is run once at the sizes ``warmed``."""
        self._segments, self._rows = segments, RowChoice()
        self._size, self._at = 1, list[int]()
        """The size of the batch, and the places of the rows that have not left."""
        before = used_bytes() or 0
        for size in warmed:
            self.enter(segments[0].input.blank(size))
            for segment in range(len(segments)):
                self.through(segment, size, run_options())
        self._memory_bytes = max(0, (used_bytes() or 0) - before)

    def enter(self, batch: Array) -> None:
        self._size, self._at = padded(len(batch)), list(range(len(batch)))
        self._buffers(0, self._size).fill(batch)

    def through(self, segment: int, rows: int, options: RunOptions) -> Array:
        if not rows:
            return self._buffers(segment, self._size).told()[:0]
        buffers = self._buffers(segment, self._size)
        self._segments[segment].launch(buffers, options)
        told = buffers.told()
        return told[:rows] if self._at == list(range(rows)) else told[self._at]

    def leave(self, segment: int, leaving: Sequence[bool], there: list[int]) -> list[int]:
        self._at = [at for at, left in zip(self._at, leaving, strict=True) if not left]
        if self._at and (size := padded(len(self._at))) < self._size:
            self._rows.copy(
                self._buffers(segment, self._size).found[0], self._at, self._buffers(segment, size).found[0]
            )
            self._size, self._at = size, list(range(len(self._at)))
        return [row for row, left in zip(there, leaving, strict=True) if not left]

    def memory_bytes(self) -> int:
        return self._memory_bytes

    def _buffers(self, segment: int, size: int) -> DeviceBuffers:
        given = self._buffers(segment - 1, size).found[0] if segment else None
        buffers = self._segments[segment].buffers(size, given)
        assert buffers is not None, "its shapes follow from the size of the batch"
        return buffers


class RowChoice:
    """Copies some rows of one tensor on the GPU to another, which is as long or shorter."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[int, str], Any] = {}
        """By number of axes and type."""

    def copy(self, source: Any, rows: Sequence[int], target: Any) -> None:
        """``rows``: at most as many as the target has; what lies behind them is of no matter."""
        places = np.zeros(target.shape()[0], np.int64)
        places[: len(rows)] = rows
        key = len(source.shape()), source.data_type()
        session = self._sessions.get(key) or self._sessions.setdefault(key, _gathers(*key))
        with USE:
            binding, value = session.io_binding(), runtime().OrtValue
            binding.bind_ortvalue_input("rows", source)
            binding.bind_ortvalue_input("places", value.ortvalue_from_numpy(places, "cuda", CHOICE.index))
            binding.bind_ortvalue_output("chosen", target)
            session.run_with_iobinding(binding, run_options())


def _gathers(axes: int, kind: str) -> Any:
    """A network of one operator."""
    element = {"tensor(float)": TensorProto.FLOAT, "tensor(float16)": TensorProto.FLOAT16}[kind]
    shape = [f"d{axis}" for axis in range(1, axes)]
    rows = helper.make_tensor_value_info("rows", element, ["N", *shape])
    places = helper.make_tensor_value_info("places", TensorProto.INT64, ["M"])
    chosen = helper.make_tensor_value_info("chosen", element, ["M", *shape])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["rows", "places"], ["chosen"])], "g", [rows, places], [chosen]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return runtime().InferenceSession(model.SerializeToString(), session_options(1), providers=providers("fp32"))
