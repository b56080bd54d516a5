"""Finds the common prefix of networks, such as those specialised from one network (Shen, 2019 [Nexus], §3.5)."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from serving.graphs.cut_points import recommended
from serving.graphs.dataflow import Dataflow, dataflow
from serving.graphs.digest import tensor_digests
from serving.graphs.segments import handed_over


def common_prefix(models: Sequence[onnx.ModelProto]) -> list[str] | None:
    """The latest place up to which all networks compute the same: a cut tensor of each, or None; raises ModelError.

    At least one of them has a cut point there, so that no layer is torn apart without need.
    """
    flows = [dataflow(model) for model in models]
    places = [_places(flow) for flow in flows]
    layers = {place for flow, known in zip(flows, places, strict=True) for place in _layers(flow, known)}
    for place in reversed(places[0] if places else {}):
        if place in layers and all(place in known for known in places):
            return [known[place] for known in places]
    return None


def prefixes(model: onnx.ModelProto) -> list[tuple[bytes, float]]:
    """For each cut point a digest of all that is computed up to it, and its share of the work; raises ModelError.

    Networks that have a digest in common have that prefix in common, as ``common_prefix`` finds it.
    """
    flow = dataflow(model)
    content = tensor_digests(flow.model)
    return [(content[handed_over(flow, point.tensor)], point.share) for point in recommended(flow)]


def _places(flow: Dataflow) -> dict[bytes, str]:
    """Map the value handed over at each cut vertex to the first such tensor, in dataflow order."""
    content, places = tensor_digests(flow.model), dict[bytes, str]()
    for name in flow.cuts:
        places.setdefault(content[handed_over(flow, name)], name)
    return places


def _layers(flow: Dataflow, places: dict[bytes, str]) -> set[bytes]:
    points = {point.tensor for point in recommended(flow)}
    return {place for place, name in places.items() if name in points}
