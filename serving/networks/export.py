"""PyTorch → ONNX with any batch size; weights, where asked, stored in half precision."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

INPUT, OUTPUT = "images", "logits"
OPSET = 17


def to_onnx(network: nn.Module, size: int) -> onnx.ModelProto:
    """A classifier of N × 3 × size × size images as ONNX; batch normalisation is folded into the convolutions."""
    network.eval()
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # The exporter that replaces this one needs onnxscript and writes four times as many nodes.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (torch.zeros(1, 3, size, size),),
            buffer,
            input_names=[INPUT],
            output_names=[OUTPUT],
            dynamic_axes={INPUT: {0: "N"}, OUTPUT: {0: "N"}},
            opset_version=OPSET,
            dynamo=False,
        )
    return onnx.load_from_string(buffer.getvalue())


def export(network: nn.Module, path: Path, size: int, *, half: bool = False) -> None:
    """Write a classifier of N × 3 × size × size images; ``half`` takes half the space for about three digits."""
    model = to_onnx(network, size)
    if half:
        halve(model)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def halve(model: onnx.ModelProto) -> None:
    """Store matrices and kernels as float16, each cast back to float32 on load (ONNX Runtime folds the casts)."""
    graph = model.graph
    casts = []
    for tensor in list(graph.initializer):
        if tensor.data_type != TensorProto.FLOAT or len(tensor.dims) < 2:
            continue
        half = numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), f"{tensor.name}.half")
        casts.append(helper.make_node("Cast", [half.name], [tensor.name], to=TensorProto.FLOAT))
        graph.initializer.remove(tensor)
        graph.initializer.append(half)
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
