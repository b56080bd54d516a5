"""Feature networks: what a head reads from, cut out of a classifier or an embedder.

A compact classifier is cut before its last layer; an oracle is cut early, and its first layers serve as the compact
network (cf. Shen, 2019, §5.2: lower layers calculate features and need not change with the skew). Maps are averaged.
"""

from __future__ import annotations

import onnx
from onnx import helper

from serving.errors import ModelError
from serving.networks.segments import CutPoint, all_cut_points, cut_points, split

FEATURES = "features"
"""The name of the output, N × D."""
MOST_DIMS = 2048


def before_last_layer(model: onnx.ModelProto) -> CutPoint:
    """What the last layer that multiplies reads; ModelError where the network cannot be cut there."""
    usable = [point for point in all_cut_points(model) if 0 < point.share < 1 and _dims(point) is not None]
    if not usable:
        raise ModelError("this network cannot be cut before its last layer")
    return usable[-1]


def early(model: onnx.ModelProto, most_share: float) -> CutPoint:
    """The deepest cut with at most this share of the multiply-adds before it; ModelError where there is none."""
    usable = [point for point in cut_points(model) if point.share <= most_share and _dims(point) is not None]
    if not usable:
        raise ModelError(f"this network cannot be cut within the first {most_share:.0%} of its multiply-adds")
    return usable[-1]


def feature_network(model: onnx.ModelProto, cut: CutPoint) -> onnx.ModelProto:
    """The network up to a cut, its maps averaged to N × D."""
    network: onnx.ModelProto = split(model, [cut.tensor])[0]
    (given,) = (output.name for output in network.graph.output)
    nodes = {
        4: [
            helper.make_node("GlobalAveragePool", [given], [f"{FEATURES}.map"]),
            helper.make_node("Flatten", [f"{FEATURES}.map"], [FEATURES], axis=1),
        ],
        2: [helper.make_node("Identity", [given], [FEATURES])],
    }[len(cut.shape)]
    network.graph.node.extend(nodes)
    batch = network.graph.input[0].type.tensor_type.shape.dim[0].dim_param or "N"
    rows = 1 if cut.shape[0] is not None else batch
    del network.graph.output[:]
    kind = onnx.TensorProto.FLOAT
    network.graph.output.append(helper.make_tensor_value_info(FEATURES, kind, [rows, _dims(cut)]))
    return network


def _dims(point: CutPoint) -> int | None:
    """D, where the tensor is a map or a vector of few enough values."""
    dims = point.shape[1] if len(point.shape) in (2, 4) else None
    return dims if dims is not None and dims <= MOST_DIMS else None
