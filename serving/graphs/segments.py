"""A network in segments: where it can be cut (Dai et al., 2024 [Apparate], §3.1), the pieces, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import onnx

from serving.common.explain import choices
from serving.errors import ModelError
from serving.graphs.assemble import segment
from serving.graphs.cut_points import CutPoint, all_cut_points, cut_points
from serving.graphs.dataflow import Dataflow, dataflow
from serving.graphs.digest import digest
from serving.graphs.prefix import common_prefix
from serving.graphs.rounding import handed_over

__all__ = ["CutPoint", "all_cut_points", "common_prefix", "cut_points", "digest", "split"]


def split(model: onnx.ModelProto, cuts: Sequence[str]) -> list[onnx.ModelProto]:
    """The network in ``len(cuts) + 1`` segments that compose to the whole.

    ``cuts`` are cut vertices in dataflow order. Each segment has one input, the tensor it is cut at, and one output
    for the next; the last has the network's outputs. Raises ModelError for what is not such a tensor.
    """
    flow = dataflow(model)
    _check(flow, cuts)
    ends = [[handed_over(flow, cut)] for cut in cuts] + [[value.name for value in model.graph.output]]
    return [segment(flow, start, end) for start, end in zip([flow.source, *cuts], ends, strict=True)]


def _check(flow: Dataflow, cuts: Sequence[str]) -> None:
    for cut in cuts:
        if cut not in flow.cuts:
            raise ModelError(f"cannot cut at {cut!r}: {_reason(flow, cut)}")
    for before, cut in pairwise(cuts):
        if cut == before:
            raise ModelError(f"cannot cut at {cut!r} twice")
        if flow.cuts.index(cut) < flow.cuts.index(before):
            raise ModelError(f"cannot cut at {before!r}, then at {cut!r}: the data pass {cut!r} first")


def _reason(flow: Dataflow, cut: str) -> str:
    written = [name for node in flow.nodes for name in node.output]
    if cut == flow.source or any(cut == value.name for value in flow.model.graph.output):
        return "the network begins or ends there"
    if cut in written:
        place = written.index(cut)
        before = [name for name in flow.cuts if written.index(name) < place][-1:]
        after = [name for name in flow.cuts if written.index(name) > place][:1]
        nearest = " and ".join(repr(name) for name in before + after)
        return f"other data flow beside it; {f'all pass {nearest}' if nearest else 'this network cannot be cut'}"
    return f"there is no such tensor{choices(cut, flow.cuts)}"
