from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from graphlib import CycleError

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.graphs.dataflow import cut_vertices

Edges = Sequence[tuple[Hashable, Hashable]]


def chain(*vertices: str) -> list[tuple[str, str]]:
    return list(itertools.pairwise(vertices))


@pytest.mark.parametrize(
    ("edges", "cuts"),
    [
        (chain("in", "out"), []),
        (chain("in", "a", "b", "out"), ["a", "b"]),
        # One residual block between two layers: a → b → add beside a → add.
        ([*chain("in", "a", "b", "add", "c", "out"), ("a", "add")], ["a", "add", "c"]),
        # Blocks within a block.
        ([*chain("in", "a", "b", "c", "d", "out"), ("a", "d"), ("b", "c")], ["a", "d"]),
        # A shortcut over all.
        ([*chain("in", "a", "b", "out"), ("in", "out")], []),
        # An operator that reads one tensor twice.
        ([*chain("in", "a", "b", "out"), ("a", "b")], ["a", "b"]),
        # Weights and what nobody reads are on no path.
        ([*chain("in", "a", "b", "out"), ("weight", "b"), ("a", "unread")], ["a", "b"]),
    ],
)
def test_what_all_paths_pass(edges: Edges, cuts: list[str]) -> None:
    assert cut_vertices(edges, "in", "out") == cuts
    assert cut_vertices(edges[::-1], "in", "out") == cuts


def test_without_a_path_nothing_is_cut() -> None:
    assert cut_vertices([("in", "a"), ("b", "out")], "in", "out") == []
    assert cut_vertices([], "in", "out") == []


def test_a_cycle_is_an_error() -> None:
    with pytest.raises(CycleError):
        cut_vertices([("in", "a"), ("a", "b"), ("b", "a"), ("b", "out")], "in", "out")


@st.composite
def dags(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A number of vertices and edges from lower to higher ones, in any order, some of them twice."""
    size = draw(st.integers(2, 12))
    edge = st.tuples(st.integers(0, size - 2), st.integers(1, size - 1)).filter(lambda pair: pair[0] < pair[1])
    # A sparse graph with a long path: random ones hardly ever have a cut vertex.
    return size, draw(st.permutations(chain_of(size) + draw(st.lists(edge, max_size=6))))


def chain_of(size: int) -> list[tuple[int, int]]:
    return [(vertex, vertex + 1) for vertex in range(size - 1)]


@given(dags(), st.sets(st.integers(0, 10)))
def test_the_same_as_removing_every_vertex_in_turn(dag: tuple[int, list[tuple[int, int]]], dropped: set[int]) -> None:
    size, edges = dag
    edges = [edge for index, edge in enumerate(edges) if index not in dropped]
    graph = nx.MultiDiGraph(edges)
    graph.add_nodes_from(range(size))
    expected = []
    if nx.has_path(graph, 0, size - 1):
        for vertex in range(1, size - 1):
            rest = graph.copy()
            rest.remove_node(vertex)
            if not nx.has_path(rest, 0, size - 1):
                expected.append(vertex)
    assert cut_vertices(edges, 0, size - 1) == expected


@given(dags())
def test_the_same_as_the_dominators_of_the_sink(dag: tuple[int, list[tuple[int, int]]]) -> None:
    size, edges = dag
    above = nx.immediate_dominators(nx.DiGraph(edges), 0)
    vertex, dominators = above[size - 1], []
    while vertex:
        dominators.append(vertex)
        vertex = above[vertex]
    assert cut_vertices(edges, 0, size - 1) == dominators[::-1]
