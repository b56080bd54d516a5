"""Taps: what an exit reads at a cut, the activations pooled to a small grid, as one more output of the segment.

Pooling is done by the runtime, in its own order of data; the exit itself is outside, so that it can be exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import TensorProto, helper

from serving.errors import ModelError
from serving.graphs.cut_points import CutPoint, all_cut_points
from serving.graphs.segments import split

MOST_VALUES = 2048
"""The most values of a tap for one item."""
FINEST = 4
"""The most rows and columns of a tap."""

Grid = tuple[int, int, int]
"""Channels, rows, columns."""


def tap_grid(point: CutPoint) -> Grid | None:
    """The size of a tap at a cut point; None where there can be none: sizes are open, or there are too many values."""
    shape = [dim for dim in point.shape[1:] if dim is not None]
    if len(shape) != len(point.shape) - 1 or len(shape) not in (1, 3) or shape[0] > MOST_VALUES:
        return None
    if len(shape) == 1:
        return shape[0], 1, 1
    channels, rows, columns = shape
    for parts in range(min(FINEST, rows, columns), 0, -1):
        if rows % parts == 0 and columns % parts == 0 and channels * parts * parts <= MOST_VALUES:
            return channels, parts, parts
    return None


def tap_points(model: onnx.ModelProto, cuts: Sequence[str]) -> list[CutPoint]:
    """The cut points of these tensors; ModelError for one that is none, or has no tap."""
    known = {point.tensor: point for point in all_cut_points(model)}
    for cut in cuts:
        if cut not in known or tap_grid(known[cut]) is None:
            raise ModelError(f"there can be no exit at {cut!r}")
    return [known[cut] for cut in cuts]


def tapped(model: onnx.ModelProto, points: Sequence[CutPoint]) -> list[onnx.ModelProto]:
    """The network in segments; all but the last give the tap at their end (N × values) as their second output.

    Raises ModelError where the network cannot be cut at these points in this order, ValueError for one without a tap.
    """
    segments = split(model, [point.tensor for point in points])
    for segment, point in zip(segments, points, strict=False):
        _tap(segment, point)
    return segments


def _tap(segment: onnx.ModelProto, point: CutPoint) -> None:
    """Let a segment that ends at a cut point give the tap there too; ValueError where there can be none."""
    grid = tap_grid(point)
    if grid is None:
        raise ValueError(f"there is no tap at {point.tensor}")
    graph = segment.graph
    pooled, flat = f"{point.tensor}.pooled", f"{point.tensor}.tap"
    end = graph.output[0].name
    if graph.output[0].type.tensor_type.elem_type != TensorProto.FLOAT:
        graph.node.append(helper.make_node("Cast", [end], [f"{flat}.float"], to=TensorProto.FLOAT))
        end = f"{flat}.float"
    if len(point.shape) == 4:
        kernel = [int(size or 1) // parts for size, parts in zip(point.shape[2:], grid[1:], strict=True)]
        graph.node.append(helper.make_node("AveragePool", [end], [pooled], kernel_shape=kernel, strides=kernel))
    graph.node.append(helper.make_node("Flatten", [pooled if len(point.shape) == 4 else end], [flat], axis=1))
    batch = graph.output[0].type.tensor_type.shape.dim[0]
    dims = [batch.dim_value or batch.dim_param or "N", grid[0] * grid[1] * grid[2]]
    graph.output.append(helper.make_tensor_value_info(flat, TensorProto.FLOAT, dims))
