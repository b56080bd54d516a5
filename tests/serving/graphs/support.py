"""Small networks from text, and running networks and their segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[Any]


def network(signature: str, body: str, opset: int = 17, seed: int = 0, **weights: Sequence[int]) -> onnx.ModelProto:
    """A checked model from ONNX's text form, with random float32 weights of the given shapes."""
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    model = onnx.parser.parse_model(f"{header} net {signature} {{ {body} }}")
    rng = np.random.default_rng(seed)
    for name, shape in weights.items():
        values = rng.standard_normal(tuple(shape)).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model: onnx.ModelProto, batch: Array) -> list[Array]:
    """The outputs of a model with one input."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    outputs: list[Array] = session.run(None, {given.name: batch})
    return outputs


def run_segments(segments: Sequence[onnx.ModelProto], batch: Array) -> list[Array]:
    """The outputs of the last of several checked models, each fed with the first output of the one before."""
    outputs = [batch]
    for segment in segments:
        onnx.checker.check_model(segment)
        outputs = run(segment, outputs[0])
    return outputs


def sample(model: onnx.ModelProto, items: int = 2) -> Array:
    """A random batch for a model's float input; a fixed batch stays."""
    dims = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    shape = (dims[0] or items, *dims[1:])
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def most_different(left: Sequence[Array], right: Sequence[Array]) -> float:
    """The largest absolute difference between outputs, which must be alike in number and shape."""
    assert [each.shape for each in left] == [each.shape for each in right]
    return max(float(np.abs(one - other).max()) for one, other in zip(left, right, strict=True))
