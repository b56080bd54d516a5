"""Small things that changes of graphs have in common: constants, attributes, who reads what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from serving.graphs.dataflow import operands

Array = NDArray[Any]
INTEGERS = (onnx.TensorProto.INT64, onnx.TensorProto.INT32)


def stored(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """Return the tensors that a graph holds, by name: weights and the values of its Constant nodes."""
    found = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            found.update((node.output[0], each.t) for each in node.attribute if each.name == "value")
    return found


def numbers(held: Mapping[str, onnx.TensorProto], name: str) -> list[int] | None:
    """Return the integers of a stored tensor of at most one axis; None where there is none."""
    tensor = held.get(name)
    if tensor is None or len(tensor.dims) > 1 or tensor.data_type not in INTEGERS:
        return None
    return [int(value) for value in numpy_helper.to_array(tensor).reshape(-1)]


def add(graph: onnx.GraphProto, name: str, values: Array) -> str:
    """Store a tensor under this name, or one like it that is not taken; return the name."""
    taken = {tensor.name for tensor in graph.initializer} | {name for node in graph.node for name in node.output}
    while name in taken:
        name += "_"
    graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
    return name


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def readers(graph: onnx.GraphProto) -> dict[str, list[onnx.NodeProto | None]]:
    """Return the nodes that read each tensor; None stands for the world outside, which reads the outputs."""
    found: dict[str, list[onnx.NodeProto | None]] = {}
    for node in graph.node:
        for name in operands(node):
            found.setdefault(name, []).append(node)
    for output in graph.output:
        found.setdefault(output.name, []).append(None)
    return found


def drop_unread(graph: onnx.GraphProto, nodes: Iterable[onnx.NodeProto]) -> None:
    """Remove those of the nodes, and those before them among the nodes, whose outputs nobody reads; in place."""
    left = list(nodes)
    while True:
        read = readers(graph)
        gone = [node for node in left if not any(name in read for name in node.output)]
        if not gone:
            return
        for node in gone:
            graph.node.remove(node)
            left.remove(node)
