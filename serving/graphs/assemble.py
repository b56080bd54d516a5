"""One piece of a network as a network of its own: from a cut tensor to the next, with the weights it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from serving.graphs.dataflow import Dataflow, is_size, operands


def segment(flow: Dataflow, start: str, ends: Sequence[str]) -> onnx.ModelProto:
    """The graph that computes ``ends`` from ``start``, with types and shapes declared."""
    graph = flow.model.graph
    needed = list(_needed(flow, start, ends))
    nodes = [part for node in needed for part in (_size(flow, node, start) if is_size(node, flow.specs) else [node])]
    read = {name for node in nodes for name in operands(node)} | set(ends)
    declared = {value.name: value for value in [*graph.input, *graph.output]}
    values = [declared[name] if name in declared else _value(flow, name) for name in (start, *ends)]
    weights = [tensor for tensor in graph.initializer if tensor.name in read]
    piece = helper.make_graph(nodes, graph.name, values[:1], values[1:], weights)
    # From version 4 on, weights need not be inputs.
    return helper.make_model(
        piece, opset_imports=flow.model.opset_import, ir_version=max(flow.model.ir_version, 4), producer_name="sluice"
    )


def _needed(flow: Dataflow, start: str, ends: Sequence[str]) -> Iterator[onnx.NodeProto]:
    """The operators between ``start`` and ``ends`` in dataflow order."""
    writer = {name: index for index, node in enumerate(flow.nodes) for name in node.output}
    pending, found = [name for name in ends if name in writer], set()
    while pending:
        index = writer[pending.pop()]
        if index in found:
            continue
        found.add(index)
        node = flow.nodes[index]
        read = [] if is_size(node, flow.specs) else operands(node)
        pending += [name for name in read if name in writer and name != start]
    return (flow.nodes[index] for index in sorted(found))


def _size(flow: Dataflow, node: onnx.NodeProto, start: str) -> list[onnx.NodeProto]:
    """Says a tensor's size without the tensor, which may lie in an earlier segment: the batch is that of ``start``."""
    result = node.output[0]
    part = {attribute.name: attribute.i for attribute in node.attribute}
    size = flow.specs[node.input[0]].shape[part.get("start", 0) : part.get("end")]
    if None not in size:
        return [_constant(size, result)]
    rest = size[1:]
    return [
        _constant([0], f"{result}.axis"),
        _constant(rest, f"{result}.rest"),
        helper.make_node("Shape", [start], [f"{result}.start"]),
        helper.make_node("Gather", [f"{result}.start", f"{result}.axis"], [f"{result}.batch"]),
        helper.make_node("Concat", [f"{result}.batch", f"{result}.rest"], [result], axis=0),
    ]


def _constant(values: Sequence[int | None], name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(values, np.int64)))


def _value(flow: Dataflow, name: str) -> onnx.ValueInfoProto:
    """Declares a tensor; its open first axis bears the name of the input's."""
    spec = flow.specs[name]
    given = next(value for value in flow.model.graph.input if value.name == flow.source)
    batch = given.type.tensor_type.shape.dim[0].dim_param or "N"
    dims = [batch if axis == 0 and dim is None else dim for axis, dim in enumerate(spec.shape)]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(spec.dtype), dims)
