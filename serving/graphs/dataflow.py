"""An ONNX graph as the flow of data from its input to its outputs: vertices are tensors, edges run through operators.

Not part of the flow are weights and what is computed from them alone (constants, float16 weights cast back), and the
sizes of tensors: exporters write ``Shape → Gather → Concat → Reshape`` where a network says ``view``, and a size can be
had at any point of the flow.

It can be cut in two, or an exit attached, at its cut vertices: Dai et al., 2024 [Apparate], §3.1: a feasible place is a
vertex whose removal disconnects the graph; no edge starts before it and re-enters the computation behind it. Hence
between residual blocks but not inside them, and after every layer of a chain such as VGG.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TypeVar

import onnx
from onnx import inliner

from serving.common.tensors import TensorSpec
from serving.errors import ModelError
from serving.graphs.shapes import tensor_specs

V = TypeVar("V", bound=Hashable)

Neighbours = Mapping[V, Sequence[V]]


def cut_vertices(edges: Iterable[tuple[V, V]], source: V, sink: V) -> list[V]:
    """The vertices that every path from ``source`` to ``sink`` passes, in that order, without these two themselves.

    Vertices on no such path are ignored. Linear in the number of edges; graphlib's CycleError where there is a cycle.
    """
    successors, predecessors = _neighbours(edges)
    reached, needed = _reachable(source, successors), _reachable(sink, predecessors)
    live = reached & needed
    before = {vertex: [each for each in predecessors.get(vertex, ()) if each in live] for vertex in live}
    after = {vertex: sum(each in live for each in successors.get(vertex, ())) for vertex in live}
    cuts, open_edges = [], 0
    # Swept from the source, edges are open that start at a swept vertex and end at one to come. Where all of them end
    # at the next vertex, none leads around it.
    for vertex in TopologicalSorter(before).static_order():
        open_edges -= len(before[vertex])
        if not open_edges:
            cuts.append(vertex)
        open_edges += after[vertex]
    return cuts[1:-1]


def _neighbours(edges: Iterable[tuple[V, V]]) -> tuple[Neighbours[V], Neighbours[V]]:
    successors: dict[V, list[V]] = {}
    predecessors: dict[V, list[V]] = {}
    for tail, head in edges:
        successors.setdefault(tail, []).append(head)
        predecessors.setdefault(head, []).append(tail)
    return successors, predecessors


def _reachable(start: V, neighbours: Neighbours[V]) -> set[V]:
    found, pending = {start}, [start]
    while pending:
        new = set(neighbours.get(pending.pop(), ())) - found
        found |= new
        pending.extend(new)
    return found


SINK = ""
"""The vertex behind all outputs; no tensor is named so."""


@dataclass(frozen=True, slots=True)
class Dataflow:
    """A network with one input, its tensors' shapes and how data flow between them."""

    model: onnx.ModelProto
    source: str
    """Name of the input."""
    specs: Mapping[str, TensorSpec]
    """The spec of every tensor whose type and shape are known."""
    nodes: Sequence[onnx.NodeProto]
    """The operators that the outputs need, each after those it reads from."""
    cuts: Sequence[str]
    """Tensors that all data pass, items along the first axis; in dataflow order, without the input and outputs."""


def dataflow(model: onnx.ModelProto) -> Dataflow:
    """The flow of data in a network; raises ModelError where it has not exactly one input of known shape."""
    if model.functions:
        model = inliner.inline_local_functions(model)
    source = _only_input(model)
    try:
        specs = tensor_specs(model, source)
    except onnx.shape_inference.InferenceError as error:
        raise ModelError(f"not a valid graph: {' '.join(str(error).split())}") from error
    if source not in specs or not specs[source].shape:
        raise ModelError(f"input {source!r} has no axis for the batch")
    nodes = _needed(model.graph)
    return Dataflow(model, source, specs, nodes, list(_cuts(model.graph, nodes, source, specs)))


def operands(node: onnx.NodeProto) -> list[str]:
    """Tensors an operator reads, those that its subgraphs (``If``, ``Loop``) read from outside included."""
    inner = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
    return [name for name in node.input if name] + [name for graph in inner for name in _captured(graph)]


def is_size(node: onnx.NodeProto, specs: Mapping[str, TensorSpec]) -> bool:
    """Whether a node yields nothing but a size that is known, perhaps but for the batch."""
    if node.op_type != "Shape" or node.input[0] not in specs:
        return False
    return None not in specs[node.input[0]].shape[1:]


def _only_input(model: onnx.ModelProto) -> str:
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [str(value.name) for value in model.graph.input if value.name not in weights]
    if len(inputs) != 1:
        raise ModelError(f"a network that is cut must have one input; has {', '.join(inputs) or 'none'}")
    return inputs[0]


def _needed(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    read, nodes = {value.name for value in graph.output}, []
    for node in reversed(graph.node):
        if read.intersection(node.output):
            read.update(operands(node))
            nodes.append(node)
    return nodes[::-1]


def _cuts(
    graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], source: str, specs: Mapping[str, TensorSpec]
) -> Iterator[str]:
    outputs = [value.name for value in graph.output]
    batch = specs[source].shape[0]
    for name in cut_vertices(_edges(nodes, outputs, source, specs), source, SINK):
        if name not in outputs and name in specs and specs[name].shape[:1] == (batch,):
            yield name


def _edges(
    nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], source: str, specs: Mapping[str, TensorSpec]
) -> Iterator[tuple[str, str]]:
    data = {source}
    for node in nodes:
        read = [name for name in operands(node) if name in data]
        if not read or is_size(node, specs):
            continue
        written = [name for name in node.output if name]
        data.update(written)
        yield from ((tail, head) for tail in read for head in written)
    yield from ((name, SINK) for name in outputs if name in data)


def _captured(graph: onnx.GraphProto) -> list[str]:
    """Names a subgraph reads but does not define."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {name for node in graph.node for name in node.output}
    read = [name for node in graph.node for name in operands(node)] + [value.name for value in graph.output]
    return [name for name in read if name not in own]
