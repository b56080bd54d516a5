"""Small networks with random weights, for tests of what changes or measures graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from serving.catalogue.lookup import Catalogue, Entry
from tests.models import write_card

Array = NDArray[Any]
CLASSES = ("blue", "green", "red")


def graph(
    nodes: Sequence[onnx.NodeProto], weights: dict[str, Array], shape: Sequence[int | str], output: str, opset: int = 17
) -> onnx.ModelProto:
    """A model with the input ``images`` and one output of any shape."""
    made = helper.make_graph(
        list(nodes),
        "small",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(model)
    return model


def in_half_precision(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose weights are stored as float16, as those of the models that ship."""
    from serving.graphs.fold import halve

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    halve(copy)
    return copy


def classifier(
    seed: int = 0, width: int = 16, side: int = 8, batch: int | str = "N", opset: int = 17
) -> onnx.ModelProto:
    """Two convolutions, mean over the plane, three classes: N × 3 × side × side → logits N × 3."""
    rng = np.random.default_rng(seed)
    weights = {
        "w1": rng.normal(0, 0.3, (width, 3, 3, 3)),
        "b1": rng.normal(0, 0.1, width),
        "w2": rng.normal(0, 0.15, (width, width, 3, 3)),
        "w3": rng.normal(0, 1.0, (3, width)),
        "b3": rng.normal(0, 0.1, 3),
    }
    nodes = [
        helper.make_node("Conv", ["images", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w3", "b3"], ["logits"], transB=1),
    ]
    single = {name: value.astype(np.float32) for name, value in weights.items()}
    return graph(nodes, single, [batch, 3, side, side], "logits", opset)


def run(model: onnx.ModelProto, items: Array) -> Array:
    """The first output, by ONNX Runtime without its optimisations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    output: Array = session.run(None, {"images": items})[0]
    return output


def pictures(count: int, seed: int = 1, side: int = 8) -> Array:
    """Prepared items, count × 3 × side × side."""
    return np.random.default_rng(seed).normal(0, 1, (count, 3, side, side)).astype(np.float32)


def entry(models: Path, model: onnx.ModelProto | None = None, name: str = "small", **changes: Any) -> Entry:
    """The small classifier in a directory of models."""
    directory = models / name
    directory.mkdir(parents=True)
    onnx.save(model or classifier(), directory / "net.onnx")
    size = {"width": 8, "height": 8, "colour": "bgr", "scale": 1 / 64, "mean": [2, 2, 2]}
    write_card(directory, **{"input": size, "classes": list(CLASSES), **changes})
    return Catalogue([models]).find(name)
