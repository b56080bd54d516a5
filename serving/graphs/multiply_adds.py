"""Counts the multiply-adds (the papers' "FLOPs") of convolutions and matrix products; other operators count 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import onnx

from serving.common.tensors import TensorSpec

Shape = Sequence[int]


def multiply_adds(node: onnx.NodeProto, specs: Mapping[str, TensorSpec]) -> int:
    """Multiply-adds of one node for one item (for all where the batch is fixed); 0 where a size is not known."""
    count = _COUNTS.get(node.op_type)
    shapes = [_item(specs[name]) for name in (*node.input[:2], *node.output[:1]) if name in specs]
    if count is None or len(shapes) < 3 or any(dim is None for shape in shapes for dim in shape):
        return 0
    return count(node, *shapes)


def _item(spec: TensorSpec) -> tuple[int | None, ...]:
    return (1, *spec.shape[1:]) if spec.shape[:1] == (None,) else spec.shape


def _convolution(_node: onnx.NodeProto, _data: Shape, kernel: Shape, output: Shape) -> int:
    """Every output value takes one kernel: input channels of its group × window."""
    return prod(output) * prod(kernel[1:])


def _transposed(_node: onnx.NodeProto, data: Shape, kernel: Shape, _output: Shape) -> int:
    """Every input value is spread by one kernel: output channels of its group × window."""
    return prod(data) * prod(kernel[1:])


def _gemm(node: onnx.NodeProto, left: Shape, _right: Shape, output: Shape) -> int:
    transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
    return prod(output) * left[0 if transposed else 1]


def _matmul(_node: onnx.NodeProto, left: Shape, _right: Shape, output: Shape) -> int:
    return prod(output) * left[-1]


_COUNTS: Mapping[str, Callable[..., int]] = {
    "Conv": _convolution,
    "ConvTranspose": _transposed,
    "Gemm": _gemm,
    "MatMul": _matmul,
}
