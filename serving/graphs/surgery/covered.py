"""A network that sees a part of its picture as if there were nothing else: how a smaller network is compared with it.

A convolution at the lower edge of a smaller picture reads zeros where one that runs on the padded picture reads what
the padding has become. With zeros there in every layer both compute the same numbers, so that a network for other sizes
can be compared with its original to the last bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from serving.common.tensors import TensorSpec
from serving.graphs.surgery.parts import add
from serving.graphs.surgery.reshape import only_input

SUMMING = frozenset({"Conv", "ConvTranspose", "AveragePool"})
"""Operators that add up a window; beside the picture they read zeros."""
FLOATS: Mapping[str, type[np.floating[Any]]] = {"float32": np.float32, "float16": np.float16, "float64": np.float64}


def covered(model: onnx.ModelProto, whole: Mapping[str, TensorSpec], part: Mapping[str, TensorSpec]) -> None:
    """Put zeros, in place, wherever a window reads beyond the shapes of ``part``; ``whole``: the network's own."""
    masks, masked = dict[Hashable, str](), dict[tuple[str, bool], str]()
    nodes: list[onnx.NodeProto] = []
    longest = max(side or 0 for side in whole[only_input(model).name].shape)
    for node in model.graph.node:
        name, largest = next(iter(node.input), ""), node.op_type == "MaxPool"
        reads = (largest or node.op_type in SUMMING) and not _reads_cells(node, whole, longest)
        mask = _mask(model.graph, masks, whole.get(name), part.get(name), largest) if reads else None
        if mask is not None:
            if (name, largest) not in masked:
                masked[name, largest] = f"{name}.covered{int(largest)}"
                nodes.append(helper.make_node("Min" if largest else "Mul", [name, mask], [masked[name, largest]]))
            node.input[0] = masked[name, largest]
        nodes.append(node)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _reads_cells(node: onnx.NodeProto, whole: Mapping[str, TensorSpec], longest: int) -> bool:
    """Whether a convolution of single places runs along a row of cells, longer than any side of the picture."""
    weights = whole.get(node.input[1]) if node.op_type == "Conv" and len(node.input) > 1 else None
    if weights is None or set(weights.shape[2:]) != {1}:
        return False
    return node.input[0] in whole and any((side or 0) > longest for side in whole[node.input[0]].shape[2:])


def _mask(
    graph: onnx.GraphProto,
    masks: dict[Hashable, str],
    whole: TensorSpec | None,
    part: TensorSpec | None,
    largest: bool,
) -> str | None:
    """The name of what leaves the part and nothing else; None where the part is all."""
    if whole is None or part is None or len(whole.shape) != 4 or whole.dtype.name not in FLOATS:
        return None
    own = [side for side in whole.shape[2:] if side is not None]
    left = [min(sides) for sides in zip(own, (side for side in part.shape[2:] if side is not None), strict=True)]
    if own == left:
        return None
    key = (*own, *left, whole.dtype.name, largest)
    if key not in masks:
        kind = FLOATS[whole.dtype.name]
        beyond, inside = (np.finfo(kind).min, np.finfo(kind).max) if largest else (0, 1)
        values = np.full((1, 1, *own), beyond, kind)
        values[:, :, : left[0], : left[1]] = inside
        masks[key] = add(graph, f"covered.{len(masks)}", values)
    return masks[key]
