"""Factorised weights: every matrix and kernel becomes the product of two thin ones (Shen, 2019, §4.3.1).

The best rank-k approximation of a matrix W (m × n) is its truncated singular value decomposition, W ≈ (U·√S)(√S·V)
(Eckart and Young, 1936). A Gemm or MatMul becomes one by m × k and one by k × n. A convolution's kernel is read as the
matrix out × (in · kh · kw): it becomes a convolution with k kernels of the same size, stride and padding, followed by
one of 1 × 1 to all outputs. Only layers that get cheaper by it change. At full rank nothing is lost but rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from serving.graphs.fold import drop_unused, folded, is_exact

Matrix = NDArray[np.float32]


def factorised(model: onnx.ModelProto, divisor: int) -> onnx.ModelProto:
    """A copy of the model in which each layer of n outputs has rank n / ``divisor`` where that saves multiply-adds."""
    copy = folded(model)
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in copy.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in copy.graph.node:
        layer = _layer(node, weights)
        rank = 0 if layer is None else max(1, layer.matrix.shape[0] // divisor)
        if layer is None or not saves(layer.matrix.shape, rank):
            nodes.append(node)
            continue
        nodes += _replaced(copy.graph, node, layer, rank)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    drop_unused(copy.graph)
    return copy


def saves(shape: tuple[int, ...], rank: int) -> bool:
    """Whether two factors of this rank hold fewer numbers than an m × n matrix, hence take fewer multiply-adds."""
    rows, columns = shape
    return rank * (rows + columns) < rows * columns


def factors(matrix: Matrix, rank: int) -> tuple[Matrix, Matrix]:
    """m × k and k × n whose product is as near to the m × n matrix as any of rank k is."""
    u, s, v = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    root = np.sqrt(s[:rank])
    return (u[:, :rank] * root).astype(np.float32), (root[:, None] * v[:rank]).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Layer:
    """A node's weights as outputs × inputs, and how its two factors are stored again."""

    matrix: Matrix
    name: str
    kernel: tuple[int, ...] | None = None
    """in × kh × kw of a convolution."""
    transposed: bool = False
    """The node stores inputs × outputs."""


def _layer(node: onnx.NodeProto, weights: dict[str, Matrix]) -> _Layer | None:
    """The constant matrix, or the kernels of an ungrouped convolution, that a node multiplies by."""
    if is_exact(node) or node.op_type not in ("Conv", "Gemm", "MatMul") or node.input[1] not in weights:
        return None
    name, values, options = node.input[1], weights[node.input[1]], _options(node)
    if node.op_type == "Conv":
        ungrouped = options.get("group", 1) == 1
        return _Layer(values.reshape(len(values), -1), name, values.shape[1:]) if ungrouped else None
    if values.ndim != 2 or options.get("transA", 0):
        return None
    transposed = not options.get("transB", 0)
    return _Layer(values.T if transposed else values, name, transposed=transposed)


def _replaced(graph: onnx.GraphProto, node: onnx.NodeProto, layer: _Layer, rank: int) -> list[onnx.NodeProto]:
    """Two nodes: the first by the inner factor and without bias, the second by the outer one with the node's bias."""
    outer, inner = factors(layer.matrix, rank)
    middle, stem = f"{node.output[0]}.rank{rank}", f"{node.output[0]}.weight"
    if layer.kernel is not None:
        _add(graph, f"{stem}.inner", inner.reshape(rank, *layer.kernel))
        _add(graph, f"{stem}.outer", outer.reshape(*outer.shape, *(1 for _ in layer.kernel[1:])))
        first = helper.make_node("Conv", [node.input[0], f"{stem}.inner"], [middle], **_options(node))
        return [first, helper.make_node("Conv", [middle, f"{stem}.outer", *node.input[2:]], list(node.output))]
    _add(graph, f"{stem}.inner", inner.T)
    _add(graph, f"{stem}.outer", outer.T if layer.transposed else outer)
    first = helper.make_node("MatMul", [node.input[0], f"{stem}.inner"], [middle])
    second = helper.make_node(
        node.op_type, [middle, f"{stem}.outer", *node.input[2:]], list(node.output), **_options(node)
    )
    return [first, second]


def _add(graph: onnx.GraphProto, name: str, values: Matrix) -> None:
    graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(values), name))


def _options(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
