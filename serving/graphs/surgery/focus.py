"""One convolution in place of slices: networks of the YOLO family begin by cutting a picture into four, each of every
second pixel across and down, which a convolution of k × k then reads as channels ("focus", Jocher, 2020).

The same convolution on the picture itself has 2k × 2k weights and twice the stride and the padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from serving.graphs.surgery.parts import Array, add, attributes, drop_unread, numbers, readers, stored

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
