"""Pools in a row: detectors pool one tensor by windows of 5, 9 and 13 (spatial pyramid pooling, He et al., 2015).

The largest of a window of 9 is the largest of the largest of windows of 5 within it: each pool may go on from the one
before, with a window that is smaller by as much. The numbers are the same to the last bit.
"""

from __future__ import annotations

import onnx
from onnx import helper

from serving.graphs.surgery.parts import attributes


def in_a_row(model: onnx.ModelProto) -> int:
    """Have each pool of one tensor go on from the next smaller one, in place; return how many pools got smaller."""
    graph, count = model.graph, 0
    beside: dict[str, list[tuple[int, onnx.NodeProto]]] = {}
    for node in graph.node:
        if (window := _window(node)) is not None:
            beside.setdefault(node.input[0], []).append((window, node))
    for pools in beside.values():
        if len({window for window, _ in pools}) == len(pools) > 1:
            count += _chain(graph, sorted(pools, key=lambda each: each[0]))
    return count


def _chain(graph: onnx.GraphProto, pools: list[tuple[int, onnx.NodeProto]]) -> int:
    place = min(list(graph.node).index(node) for _, node in pools)
    nodes = []
    before, source = 1, pools[0][1].input[0]
    for window, node in pools:
        size = window - before + 1
        pads = [(size - 1) // 2] * 4
        nodes.append(helper.make_node("MaxPool", [source], [node.output[0]], kernel_shape=[size, size], pads=pads))
        before, source = window, node.output[0]
        graph.node.remove(node)
    for offset, node in enumerate(nodes):
        graph.node.insert(place + offset, node)
    return len(nodes) - 1


def _window(node: onnx.NodeProto) -> int | None:
    """The side of a square window that looks at every pixel and keeps the size; None for another pool."""
    if node.op_type != "MaxPool" or len(node.output) != 1:
        return None
    said = attributes(node)
    sides = list(said.get("kernel_shape", ()))
    if len(sides) != 2 or sides[0] != sides[1] or sides[0] % 2 == 0:
        return None
    plain = set(said.get("strides", [1])) == {1} and set(said.get("dilations", [1])) == {1}
    plain = plain and said.get("auto_pad", b"NOTSET") == b"NOTSET" and not said.get("storage_order", 0)
    return sides[0] if plain and list(said.get("pads", [0] * 4)) == [(sides[0] - 1) // 2] * 4 else None
