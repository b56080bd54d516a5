"""A compact classifier cut before its last layer: what a head reads from (Shen, 2019, §5.2). Maps are averaged."""

from __future__ import annotations

import onnx
from onnx import helper

from serving.errors import ModelError
from serving.graphs.cut_points import CutPoint, all_cut_points
from serving.graphs.segments import split

FEATURES = "features"
"""The name of the output, N × D."""
MOST_DIMS = 2048
MOST_PARTS = 3


def before_last_layer(model: onnx.ModelProto) -> CutPoint:
    """The tensor that the last multiplying layer reads; ModelError where the network cannot be cut there."""
    usable = [point for point in all_cut_points(model) if 0 < point.share < 1 and _dims(point) is not None]
    if not usable:
        raise ModelError("this network cannot be cut before its last layer")
    return usable[-1]


def feature_network(model: onnx.ModelProto, cut: CutPoint) -> onnx.ModelProto:
    """The network up to a cut, its maps averaged in parts, to N × D."""
    network: onnx.ModelProto = split(model, [cut.tensor])[0]
    (given,) = network.graph.output
    network.graph.node.extend(_pooled(given.name, cut) if len(cut.shape) == 4 else _as_it_is(given.name))
    rows = given.type.tensor_type.shape.dim[0]
    batch = rows.dim_value if rows.HasField("dim_value") else rows.dim_param
    kind, dims = given.type.tensor_type.elem_type, _dims(cut)
    del network.graph.output[:]
    network.graph.output.append(helper.make_tensor_value_info(FEATURES, kind, [batch, dims]))
    return network


def _pooled(given: str, cut: CutPoint) -> list[onnx.NodeProto]:
    parts, sizes = _parts(cut), cut.shape[2:]
    if parts == 1:
        mean = helper.make_node("GlobalAveragePool", [given], [f"{FEATURES}.map"])
    else:
        strides = [size // parts for size in sizes if size is not None]
        kernels = [size - (parts - 1) * step for size, step in zip(sizes, strides, strict=True) if size is not None]
        mean = helper.make_node("AveragePool", [given], [f"{FEATURES}.map"], kernel_shape=kernels, strides=strides)
    return [mean, helper.make_node("Flatten", [f"{FEATURES}.map"], [FEATURES], axis=1)]


def _as_it_is(given: str) -> list[onnx.NodeProto]:
    return [helper.make_node("Identity", [given], [FEATURES])]


def _parts(point: CutPoint) -> int:
    """Into so many a map is divided, each way."""
    channels, height, width = point.shape[1:]
    if channels is None or height is None or width is None:
        return 1
    fitting = [
        each for each in range(1, MOST_PARTS + 1) if each <= min(height, width) and channels * each**2 <= MOST_DIMS
    ]
    return max(fitting, default=1)


def _dims(point: CutPoint) -> int | None:
    """D, where the tensor is a map or a vector of few enough values."""
    if len(point.shape) not in (2, 4) or point.shape[1] is None:
        return None
    dims = point.shape[1] * (_parts(point) ** 2 if len(point.shape) == 4 else 1)
    return dims if dims <= MOST_DIMS else None
