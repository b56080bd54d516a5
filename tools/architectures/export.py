"""PyTorch → ONNX with any batch size; weights, where asked, stored in half precision."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import nn

from serving.graphs.fold import halve

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
            buffer,  # type: ignore[arg-type]  # the signature speaks of paths only; this exporter takes files too
            input_names=[INPUT],
            output_names=[OUTPUT],
            dynamic_axes={INPUT: {0: "N"}, OUTPUT: {0: "N"}},
            opset_version=OPSET,
            dynamo=False,
        )
    return _folded(onnx.load_from_string(buffer.getvalue()))


def export(network: nn.Module, path: Path, size: int, *, half: bool = False) -> None:
    """Write a classifier of N × 3 × size × size images; ``half`` takes half the space for about three digits."""
    model = to_onnx(network, size)
    if half:
        halve(model)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def _folded(model: onnx.ModelProto) -> onnx.ModelProto:
    """Fold what follows from constants alone: the exporter spells out how wide a padding is in a dozen nodes."""
    graph = model.graph
    known = {tensor.name: tensor for tensor in graph.initializer}
    for node in list(graph.node):
        if all(name in known for name in node.input if name):
            values = {name: numpy_helper.to_array(known[name]) for name in node.input if name}
            results = ReferenceEvaluator(node).run(None, values)
            for name, value in zip(node.output, results, strict=True):
                known[name] = graph.initializer.add()
                known[name].CopyFrom(numpy_helper.from_array(np.asarray(value), name))
            graph.node.remove(node)
    used = {name for node in graph.node for name in node.input}
    for name in known.keys() - used:
        graph.initializer.remove(known[name])
    return model
