"""A network in two halves that meet where another one, which reads features from its first layers, leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from serving.errors import ModelError
from serving.graphs.cut_points import all_cut_points
from serving.graphs.prefix import common_prefix
from serving.graphs.segments import split
from serving.graphs.taps import tap, tap_points


def meeting_place(features: onnx.ModelProto, network: onnx.ModelProto) -> tuple[str, str]:
    """The last tensor of each up to which both compute the same; ModelError where there is none."""
    found = common_prefix([features, network])
    if found is None:
        raise ModelError("the network of features is no early cut of this one: their first layers differ")
    return found[0], found[1]


def behind(network: onnx.ModelProto, place: str, cuts: Sequence[str]) -> list[str]:
    """Those of the cuts that lie behind a tensor, in dataflow order."""
    order = {point.tensor: index for index, point in enumerate(all_cut_points(network))}
    return [cut for cut in cuts if order.get(cut, -1) > order[place]]


def halves(features: onnx.ModelProto, network: onnx.ModelProto, cuts: Sequence[str] = ()) -> list[onnx.ModelProto]:
    """The network in segments: the first ends where ``features`` leaves it, and gives the features as second output.

    The rest is one segment, or several with taps where ``cuts``, which lie behind that place, part it. Raises
    ModelError where the two have no first layers in common, or the network cannot be cut so.
    """
    mine, place = meeting_place(features, network)
    first, *rest = split(network, [place, *cuts])
    for segment, point in zip(rest, tap_points(network, cuts), strict=False):
        tap(segment, point)
    _append(first, split(features, [mine])[1])
    return [first, *rest]


def _append(first: onnx.ModelProto, tail: onnx.ModelProto) -> None:
    """Let a segment give what another network makes of its output; the tensors of that get names of their own."""
    names = {tail.graph.input[0].name: first.graph.output[0].name}
    for node in tail.graph.node:
        added = first.graph.node.add()
        added.CopyFrom(node)
        added.name = _own(node.name)
        added.input[:] = [_renamed(name, names) for name in node.input]
        added.output[:] = [_renamed(name, names) for name in node.output]
    for weights in tail.graph.initializer:
        added_weights = first.graph.initializer.add()
        added_weights.CopyFrom(weights)
        added_weights.name = _renamed(weights.name, names)
    given = first.graph.output.add()
    given.CopyFrom(tail.graph.output[0])
    given.name = _renamed(given.name, names)


def _renamed(name: str, names: Mapping[str, str]) -> str:
    return names.get(name, _own(name))


def _own(name: str) -> str:
    return f"features/{name}" if name else name
