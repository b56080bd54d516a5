"""A network in segments: where it can be cut (Dai et al., 2024 [Apparate], §3.1), the pieces, and what they hold.

At the cuts of a quantised network (Q and DQ nodes) the tensor handed over is rounded on both sides of the cut.

A runtime computes in int8 where it finds an operator between DQ and Q. Cut right behind the operator, the Q would be
left to the next segment, and the operator to float32. Rounding twice on the same scale changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import onnx
from onnx import helper, numpy_helper

from serving.common.explain import choices
from serving.errors import ModelError
from serving.graphs.dataflow import Dataflow, dataflow, is_size, operands


def handed_over(flow: Dataflow, cut: str) -> str:
    """The tensor that a segment ends with: ``cut`` itself, or its rounded form where nothing reads it but a Q."""
    quantised = _only_reader(flow, cut, "QuantizeLinear")
    return (quantised and _only_reader(flow, quantised, "DequantizeLinear")) or cut


def _only_reader(flow: Dataflow, name: str, kind: str) -> str | None:
    """The first output of a tensor's readers, where all readers are of one kind."""
    readers = [node for node in flow.nodes if name in operands(node)]
    return readers[0].output[0] if readers and all(node.op_type == kind for node in readers) else None


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


def split(model: onnx.ModelProto, cuts: Sequence[str]) -> list[onnx.ModelProto]:
    """The network in ``len(cuts) + 1`` segments that compose to the whole.

    ``cuts`` are cut vertices in dataflow order. Each segment has one input, the tensor it is cut at, and one output
    for the next; the last has the network's outputs. Raises ModelError for what is not such a tensor.
    """
    flow = dataflow(model)
    _check(flow, cuts)
    ends = [[handed_over(flow, cut)] for cut in cuts] + [[value.name for value in model.graph.output]]
    return [segment(flow, start, end) for start, end in zip([flow.source, *cuts], ends, strict=True)]


def _check(flow: Dataflow, cuts: Sequence[str]) -> None:
    for cut in cuts:
        if cut not in flow.cuts:
            raise ModelError(f"cannot cut at {cut!r}: {_reason(flow, cut)}")
    for before, cut in pairwise(cuts):
        if cut == before:
            raise ModelError(f"cannot cut at {cut!r} twice")
        if flow.cuts.index(cut) < flow.cuts.index(before):
            raise ModelError(f"cannot cut at {before!r}, then at {cut!r}: the data pass {cut!r} first")


def _reason(flow: Dataflow, cut: str) -> str:
    written = [name for node in flow.nodes for name in node.output]
    if cut == flow.source or any(cut == value.name for value in flow.model.graph.output):
        return "the network begins or ends there"
    if cut in written:
        place = written.index(cut)
        before = [name for name in flow.cuts if written.index(name) < place][-1:]
        after = [name for name in flow.cuts if written.index(name) > place][:1]
        nearest = " and ".join(repr(name) for name in before + after)
        return f"other data flow beside it; {f'all pass {nearest}' if nearest else 'this network cannot be cut'}"
    return f"there is no such tensor{choices(cut, flow.cuts)}"
