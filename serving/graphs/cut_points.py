"""Where a network can be cut, and where it should be: one point for each layer, with what lies before it.

Work is counted in multiply-adds (the papers' "FLOPs") of convolutions and matrix products; other operators count 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

import onnx

from serving.common.tensors import TensorSpec
from serving.graphs.dataflow import Dataflow, dataflow

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


_ROUNDING = ("QuantizeLinear", "DequantizeLinear")


@dataclass(frozen=True, slots=True)
class CutPoint:
    """A tensor that all data pass."""

    tensor: str
    shape: tuple[int | None, ...]
    """First axis: the batch, None where it is open; of the others, None where the input leaves them open."""
    flops: int
    """Multiply-adds up to here for one item (what the papers call FLOPs)."""
    share: float
    """Share of the network's multiply-adds up to here."""


def all_cut_points(model: onnx.ModelProto) -> list[CutPoint]:
    """Every cut vertex in dataflow order, without the input and the outputs; raises ModelError."""
    return list(_all(dataflow(model)))


def cut_points(model: onnx.ModelProto) -> list[CutPoint]:
    """One cut vertex for each layer, in dataflow order, with work before it and behind it; raises ModelError.

    A convolution with the normalisation and activation that follow it has one cut point, the last: runtimes fuse
    them. A mere change of shape behind it is none either, and neither is a tensor after which nothing is multiplied.
    """
    return recommended(dataflow(model))


def recommended(flow: Dataflow) -> list[CutPoint]:
    """``cut_points`` of a network whose flow is known."""
    rounded = {name for node in flow.nodes if node.op_type in _ROUNDING for name in node.output}
    return one_per_layer(_all(flow), rounded)


def one_per_layer(points: Iterable[CutPoint], but: Collection[str] = ()) -> list[CutPoint]:
    """The last point of each run of equal size with nothing multiplied in it, of those that look like its first.

    Tensors of ``but`` are taken only where a run has no others.
    """
    between = (point for point in points if 0.0 < point.share < 1.0)
    layers = [list(layer) for _, layer in groupby(between, lambda point: (point.flops, _elements(point)))]
    alike = [[each for each in layer if each.shape == layer[0].shape and each.tensor not in but] for layer in layers]
    return [(fitting or layer)[-1] for fitting, layer in zip(alike, layers, strict=True)]


def _all(flow: Dataflow) -> Iterator[CutPoint]:
    before, cuts = 0, dict.fromkeys(flow.cuts, 0)
    for node in flow.nodes:
        before += multiply_adds(node, flow.specs)
        cuts |= {name: before for name in node.output if name in cuts}
    batch = flow.specs[flow.source].shape[0] or 1
    for name, flops in cuts.items():
        yield CutPoint(name, flow.specs[name].shape, flops // batch, flops / before if before else 0.0)


def _elements(point: CutPoint) -> int | None:
    """Values per item; None where it is open."""
    dims = [dim for dim in point.shape[1:] if dim is not None]
    return prod(dims) if len(dims) == len(point.shape) - 1 else None
