"""Layers that give the same numbers for less work: pools in a row, and one convolution in place of slices.

Detectors pool one tensor by windows of 5, 9 and 13 (spatial pyramid pooling, He et al., 2015). The largest of a window
of 9 is the largest of the largest of windows of 5 within it: each pool may go on from the one before, with a window
that is smaller by as much. The numbers are the same to the last bit.

Networks of the YOLO family begin by cutting a picture into four, each of every second pixel across and down, which a
convolution of k × k then reads as channels ("focus", Jocher, 2020). The same convolution on the picture itself has
2k × 2k weights and twice the stride and the padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from serving.graphs.surgery.parts import Array, add, attributes, drop_unread, numbers, readers, stored


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


ROWS, COLUMNS = 2, 3
"""Axes of N × C × H × W."""
TO_THE_END = (1 << 31) - 1
"""Exporters write this, or more, where a slice goes to the end of its axis."""
BLOCK = ((0, 0), (0, 1), (1, 0), (1, 1))
"""The order in which ``SpaceToDepth`` lays out a block of two by two pixels."""


class Quarter(NamedTuple):
    """Every second pixel of a tensor, across and down."""

    source: str
    first: tuple[int, int]
    """Row and column of the first one."""


def without_slices(model: onnx.ModelProto) -> int:
    """Replace slices and the convolution behind them by one convolution, in place; return how many there were."""
    graph = model.graph
    held, read = stored(graph), readers(graph)
    writers = {name: node for node in graph.node for name in node.output}
    count = 0
    for node in list(graph.node):
        behind = read.get(node.output[0], []) if node.output else []
        (conv,) = behind if len(behind) == 1 else (None,)
        quarters = _quarters(node, writers, held)
        if conv is None or quarters is None or not _is_plain(conv, node.output[0], held):
            continue
        _widen(graph, conv, held[conv.input[1]], quarters)
        count += 1
    if count:
        drop_unread(graph, [each for each in graph.node if each.op_type in ("Slice", "Concat", "SpaceToDepth")])
    return count


def _quarters(
    node: onnx.NodeProto, writers: Mapping[str, onnx.NodeProto], held: Mapping[str, onnx.TensorProto]
) -> list[Quarter] | None:
    """The four that a node lays behind each other as channels; None where it does something else."""
    said = attributes(node)
    if node.op_type == "SpaceToDepth" and said.get("blocksize") == len(BLOCK) // 2:
        return [Quarter(node.input[0], first) for first in BLOCK]
    if node.op_type != "Concat" or said.get("axis") not in (1, -3) or len(node.input) != len(BLOCK):
        return None
    found = [quarter for name in node.input if (quarter := _quarter(name, writers, held)) is not None]
    whole = {each.first for each in found} == set(BLOCK) and len({each.source for each in found}) == 1
    return found if whole else None


def _quarter(name: str, writers: Mapping[str, onnx.NodeProto], held: Mapping[str, onnx.TensorProto]) -> Quarter | None:
    """The quarter that one slice, or a slice of a slice, takes."""
    first: dict[int, int] = {}
    while len(first) < 2:
        node = writers.get(name)
        cut = None if node is None or node.op_type != "Slice" else _every_second(node, held)
        if node is None or cut is None or first.keys() & cut.keys():
            return None
        first |= cut
        name = node.input[0]
    return Quarter(name, (first[ROWS], first[COLUMNS]))


def _every_second(node: onnx.NodeProto, held: Mapping[str, onnx.TensorProto]) -> dict[int, int] | None:
    """By axis the first pixel of a slice that takes every second one to the end; None for another slice."""
    if len(node.input) != 5:
        return None
    starts, ends, axes, steps = (numbers(held, name) for name in node.input[1:])
    if starts is None or ends is None or axes is None or steps is None:
        return None
    axes = [axis % 4 for axis in axes]
    fits = set(axes) <= {ROWS, COLUMNS} and set(starts) <= {0, 1} and set(steps) == {2} and min(ends) >= TO_THE_END
    return dict(zip(axes, starts, strict=True)) if fits else None


def _is_plain(node: onnx.NodeProto, source: str, held: Mapping[str, onnx.TensorProto]) -> bool:
    """Whether this is a convolution of all channels by stored weights, without holes in its kernel."""
    if node.op_type != "Conv" or node.input[0] != source or node.input[1] not in held:
        return False
    said, weights = attributes(node), held[node.input[1]]
    return (
        len(weights.dims) == 4
        and weights.dims[1] % len(BLOCK) == 0
        and said.get("group", 1) == 1
        and set(said.get("dilations", [1])) == {1}
        and said.get("auto_pad", b"NOTSET") == b"NOTSET"
    )


def _widen(
    graph: onnx.GraphProto, conv: onnx.NodeProto, weights: onnx.TensorProto, quarters: Sequence[Quarter]
) -> None:
    """Have the convolution read the picture that the quarters come from."""
    said = attributes(conv)
    wide = widened(numpy_helper.to_array(weights), [each.first for each in quarters])
    conv.input[0] = quarters[0].source
    conv.input[1] = add(graph, f"{conv.output[0]}.wide", wide)
    del conv.attribute[:]
    said |= {
        "kernel_shape": list(wide.shape[2:]),
        "strides": [2 * stride for stride in said.get("strides", [1, 1])],
        "pads": [2 * pad for pad in said.get("pads", [0, 0, 0, 0])],
    }
    conv.attribute.extend(helper.make_attribute(name, value) for name, value in said.items())


def widened(weights: Array, firsts: Sequence[tuple[int, int]]) -> Array:
    """Out × 4C × k × k weights for four quarters → out × C × 2k × 2k for the picture that they come from."""
    out, channels, height, width = weights.shape
    channels //= len(firsts)
    wide = np.zeros((out, channels, 2 * height, 2 * width), weights.dtype)
    for place, (row, column) in enumerate(firsts):
        wide[:, :, row::2, column::2] = weights[:, place * channels : (place + 1) * channels]
    return wide
