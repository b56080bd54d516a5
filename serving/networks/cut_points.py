"""Where a network can be cut, and where it should be: one point for each layer, with what lies before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

import onnx

from serving.networks.dataflow import Dataflow, dataflow
from serving.networks.multiply_adds import multiply_adds


@dataclass(frozen=True, slots=True)
class CutPoint:
    """A tensor that all data pass."""

    tensor: str
    shape: tuple[int | None, ...]
    """First axis: the batch, None where it is open; of the others, None where the input leaves them open."""
    flops: int
    """Multiply-adds up to here for one item (what the papers call FLOPs)."""
    share: float
    """Of the network's multiply-adds."""


def all_cut_points(model: onnx.ModelProto) -> list[CutPoint]:
    """Every cut vertex in dataflow order, without the input and the outputs; raises ModelError."""
    return list(_all(dataflow(model)))


def cut_points(model: onnx.ModelProto) -> list[CutPoint]:
    """One cut vertex for each layer, in dataflow order, with work before it and behind it; raises ModelError.

    Of a convolution and the normalisation and activation that follow it, only the last is a cut point: runtimes fuse
    them. A mere change of shape behind it is none either, and neither is a tensor after which nothing is multiplied.
    """
    return recommended(dataflow(model))


def recommended(flow: Dataflow) -> list[CutPoint]:
    """``cut_points`` of a network whose flow is known."""
    points = [point for point in _all(flow) if 0.0 < point.share < 1.0]
    layers = groupby(points, lambda point: (point.flops, _elements(point)))
    return [_last_alike(flow, list(layer)) for _, layer in layers]


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


def _last_alike(flow: Dataflow, layer: Sequence[CutPoint]) -> CutPoint:
    """The last of a layer's tensors with the type and shape of its first; in a quantised network, before rounding."""
    first = flow.specs[layer[0].tensor]
    rounded = {node.output[0] for node in flow.nodes if node.op_type == "DequantizeLinear"}
    alike = [point for point in layer if flow.specs[point.tensor] == first and point.tensor not in rounded]
    return (alike or layer)[-1]
