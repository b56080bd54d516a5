"""Cut vertices of a dataflow graph: where a network can be cut in two, or an exit attached.

Dai et al., 2024 [Apparate], §3.1: a feasible place is a vertex whose removal disconnects the graph; no edge starts
before it and re-enters the computation behind it. Hence between residual blocks but not inside them, and after every
layer of a chain such as VGG.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TypeVar

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
