"""Cut points and segments of PyTorch modules: the network is traced (torch.fx), and its segments share its weights.

As in ``segments``, but that sizes count as data: what says ``x.size(0)`` early and uses it late is not cut in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from serving.common.explain import choices
from serving.errors import ModelError
from serving.graphs.cut_points import CutPoint, one_per_layer
from serving.graphs.cut_vertices import cut_vertices

_BATCH = 2
"""Items in the sample that goes through the network: with one, any axis of one would pass for the batch."""


def all_cut_points(module: nn.Module, item: Sequence[int]) -> list[CutPoint]:
    """Every cut vertex of a module for inputs of N × ``item``, by its name in the trace; raises ModelError."""
    traced = _traced(module)
    costs = _Costs(traced)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.inference_mode():
        costs.run(torch.zeros(_BATCH, *item))
    return [costs.point(node.name) for node in _cuts(traced) if costs.shapes.get(node.name, ())[:1] == (_BATCH,)]


def cut_points(module: nn.Module, item: Sequence[int]) -> list[CutPoint]:
    """One cut vertex for each layer, with work before it and behind it; raises ModelError."""
    return one_per_layer(all_cut_points(module, item))


def split(module: nn.Module, cuts: Sequence[str]) -> list[nn.Module]:
    """The module in ``len(cuts) + 1`` segments that compose to the whole; raises ModelError for no cut vertex."""
    traced = _traced(module)
    possible = {node.name: node for node in _cuts(traced)}
    for cut in cuts:
        if cut not in possible:
            raise ModelError(f"cannot cut at {cut!r}: not all data pass it{choices(cut, possible)}")
    order = list(possible)
    for before, cut in pairwise(cuts):
        if order.index(cut) <= order.index(before):
            raise ModelError(f"cannot cut at {before!r}, then at {cut!r}: give each once, as the data pass them")
    (source,) = traced.graph.find_nodes(op="placeholder")
    ends = [source, *(possible[cut] for cut in cuts), traced.graph.output_node()]
    return [_segment(traced, start, end) for start, end in pairwise(ends)]


def _traced(module: nn.Module) -> fx.GraphModule:
    try:
        traced = fx.symbolic_trace(module)
    except Exception as error:  # whatever the module's own code raises when its values are unknown
        raise ModelError(f"{type(module).__name__} cannot be traced: {' '.join(str(error).split())}") from error
    if len(traced.graph.find_nodes(op="placeholder")) != 1:
        raise ModelError(f"{type(module).__name__}: a network that is cut must have one input")
    return traced


def _cuts(traced: fx.GraphModule) -> list[fx.Node]:
    edges = [(read, node) for node in traced.graph.nodes for read in node.all_input_nodes]
    (source,) = traced.graph.find_nodes(op="placeholder")
    output = traced.graph.output_node()
    # The output node only returns what another has computed.
    return [node for node in cut_vertices(edges, source, output) if node not in output.all_input_nodes]


def _segment(traced: fx.GraphModule, start: fx.Node, end: fx.Node) -> nn.Module:
    """A module that computes ``end`` from ``start``, with the submodules and parameters of the whole."""
    graph = fx.Graph()
    copies = {start: graph.placeholder(start.name)}
    for node in _between(start, end):
        copies[node] = graph.node_copy(node, copies.__getitem__)
    if end.op != "output":
        graph.output(copies[end])
    return fx.GraphModule(traced, graph, type(traced).__name__)


def _between(start: fx.Node, end: fx.Node) -> Iterator[fx.Node]:
    """The nodes that ``end`` needs besides ``start``, in the order of the trace."""
    needed, pending = {start, end}, [end]
    while pending:
        new = set(pending.pop().all_input_nodes) - needed
        needed |= new
        pending.extend(new)
    return (node for node in end.graph.nodes if node in needed and node is not start)


class _Costs(fx.Interpreter):
    """Runs a trace and notes the shape of each value and the multiply-adds up to it."""

    def __init__(self, traced: fx.GraphModule) -> None:
        super().__init__(traced)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.before: dict[str, int] = {}
        self.total = 0

    def run_node(self, n: fx.Node) -> Any:
        """Run one node under a counter of floating-point operations, two for each multiply-add."""
        with FlopCounterMode(display=False) as counter:
            value = super().run_node(n)
        self.total += counter.get_total_flops() // (2 * _BATCH)
        self.before[n.name] = self.total
        if isinstance(value, Tensor):
            self.shapes[n.name] = tuple(value.shape)
        return value

    def point(self, name: str) -> CutPoint:
        """The cut point of this name."""
        flops = self.before[name]
        return CutPoint(name, (None, *self.shapes[name][1:]), flops, flops / self.total if self.total else 0.0)
