"""Fewer bits: static int8, whose scales come from calibration data, and fp16, both by ONNX Runtime's tools.

The graph is written with pairs of QuantizeLinear and DequantizeLinear, which ONNX Runtime and OpenVINO both turn into
integer arithmetic. Weights have a scale per output channel and 7 of the 8 bits: processors without VNNI add pairs of
products in 16 bits, and with all 8 bits those sums overflow. Ranges are the least and greatest values met.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
from onnx import version_converter

from serving.common.explain import first_line
from serving.common.libraries import silent
from serving.common.tensors import Array
from serving.errors import ModelError
from serving.graphs.fold import folded, is_exact

with silent():
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

CALIBRATION_ITEMS = 128
"""More did not bring the shipped networks nearer to their references."""
OPSET = 13
"""The first with a scale per channel."""


def quantised(name: str, model: onnx.ModelProto, items: Array) -> onnx.ModelProto:
    """The model in int8, calibrated on at most ``CALIBRATION_ITEMS`` prepared items (N × …); ModelError where it fails.

    ``name``: of the model, for messages.
    """
    if not len(items):
        raise ModelError(f"model {name!r}: int8 needs pictures to calibrate it")
    try:
        with _quiet(), tempfile.TemporaryDirectory(prefix="sluice-int8-") as folder:
            given, prepared, written = (Path(folder, f"{stage}.onnx") for stage in ("fp32", "prepared", "int8"))
            # By way of a file: of a model in memory the tool moves the weights elsewhere, and then misses them.
            onnx.save(_modern(folded(model)), given)
            quant_pre_process(given, prepared, skip_symbolic_shape=True)
            quantize_static(
                prepared,
                written,
                _Reader(model.graph.input[0], items[:CALIBRATION_ITEMS]),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                reduce_range=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
                nodes_to_exclude=[node.name for node in onnx.load(prepared).graph.node if is_exact(node)],
            )
            return onnx.load(written)
    except Exception as error:  # what the tool raises shares no base but Exception
        raise ModelError(f"model {name!r} cannot be quantised: {first_line(error)}") from error


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Hands the items out one by one, unless the graph wants more: all that a run computes is in memory at once."""

    def __init__(self, graph_input: onnx.ValueInfoProto, items: Array) -> None:
        fixed = graph_input.type.tensor_type.shape.dim[0].dim_value
        step = fixed or 1
        self._batches = iter([items[start : start + step] for start in range(0, len(items), step)])
        self._name = graph_input.name

    def get_next(self) -> dict[str, Any] | None:
        """The next batch; None when there is no more."""
        batch = next(self._batches, None)
        return None if batch is None else {self._name: batch}


def _modern(model: onnx.ModelProto) -> onnx.ModelProto:
    version = max(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
    return version_converter.convert_version(model, OPSET) if version < OPSET else model


@contextmanager
def _quiet() -> Iterator[None]:
    """The tool logs what it would rather be asked, on the root logger, and of failures the traceback as well."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        root.setLevel(level)


with silent():
    from onnxruntime.transformers.float16 import convert_float_to_float16


def in_half_precision(name: str, model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in fp16; operators that the tool knows to need more stay in fp32. ModelError where it fails.

    ``name``: of the model, for messages.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers that are too small or too large are brought to the nearest
            return convert_float_to_float16(folded(model), keep_io_types=True)
    except Exception as error:  # the tool raises whatever it meets
        raise ModelError(f"model {name!r} cannot be converted to fp16: {first_line(error)}") from error
