"""Weights as tools that change graphs understand them, without casts; and marks on nodes that these leave alone."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXACT = "exact/"
"""How the names of such nodes begin. Quantisation leaves them out."""


def is_exact(node: onnx.NodeProto) -> bool:
    """Whether the node is to be left alone."""
    return bool(node.name.startswith(EXACT))


def folded(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which every Cast of an initializer to float32 is carried out; the rest stays as it is."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    casts = [node for node in graph.node if _casts_weights(node) and node.input[0] in stored]
    for node in casts:
        values = numpy_helper.to_array(stored[node.input[0]]).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
        graph.node.remove(node)
    drop_unused(graph)
    return copy


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


def drop_unused(graph: onnx.GraphProto) -> None:
    """Remove initializers that no node reads, in place."""
    used = {name for node in graph.node for name in node.input} | {output.name for output in graph.output}
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)


def _casts_weights(node: onnx.NodeProto) -> bool:
    return node.op_type == "Cast" and any(each.name == "to" and each.i == TensorProto.FLOAT for each in node.attribute)
