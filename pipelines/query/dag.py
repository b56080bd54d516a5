"""From the nodes of a query to the order in which they run, and to a query that can run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.query.filter_parser import parse_selection
from pipelines.query.filters import ZONE, Facts, Selection, leaves
from pipelines.query.lineage import answers_before, lineage, makes_regions, node_problems, of_frames, source_of, tracked
from pipelines.query.nodes import MOTION, NodeSpec, OwnNode, RecogniseNode, TrackNode, takes_frame
from pipelines.query.query_file import Query
from serving.catalogue.lookup import Catalogue
from serving.errors import QueryError

if TYPE_CHECKING:
    from operators.frames.frame import Region


@dataclass(frozen=True)
class DagNode:
    spec: NodeSpec
    source: Selection | None
    """Its input; None for the frame itself."""
    answers: Mapping[str, str]
    """Nodes whose answers the filter may ask for, with the attribute that holds the answer."""

    @cached_property
    def name(self) -> str:
        return self.spec.name

    @cached_property
    def models(self) -> tuple[str, ...]:
        return self.spec.models

    @cached_property
    def has_network(self) -> bool:
        return bool(self.models) and self.models[0] != MOTION

    @property
    def gallery(self) -> Path | None:
        return self.spec.gallery if isinstance(self.spec, RecogniseNode) else None

    @cached_property
    def makes_regions(self) -> bool:
        """Whether the node makes the regions that it puts out; others put out those they were given."""
        return makes_regions(self.spec)

    def select(self, outputs: Mapping[str, Sequence[Region]]) -> list[Region]:
        """The regions the node works on, from the output of every node before it; none for the frame itself."""
        if self.source is None:
            return []
        regions, where = outputs[self.source.node], self.source.where
        return [region for region in regions if where is None or where.matches(self._facts(region))]

    def lets_pass(self, region: Region) -> bool:
        """Whether an object passes the filter, as far as one can know before recognisers have answered.

        Where it is says nothing: pictures that are enrolled come from elsewhere.
        """
        where = None if self.source is None else self.source.where
        asks = any(leaf.field in self.answers or leaf.field == ZONE for leaf in leaves(where))
        return where is None or asks or where.matches(self._facts(region))

    def _facts(self, region: Region) -> Facts:
        said = {attribute.name: attribute.label for attribute in region.attributes}
        answers = {node: said.get(attribute) for node, attribute in self.answers.items()}
        numbers: Facts = {"confidence": region.confidence, "area": region.box.area}
        return {"label": region.label, ZONE: region.zones or (), **numbers, **answers}


@dataclass(frozen=True)
class Dag:
    """The nodes of a query in an order in which every input comes before its use."""

    query: str
    slo_ms: float
    groups: tuple[tuple[DagNode, ...], ...]
    """Nodes that follow each other and do not depend on each other: they run at the same time."""
    priority: int = 0
    """Beside other queries of a fleet; higher is served first."""

    @cached_property
    def nodes(self) -> tuple[DagNode, ...]:
        """All of them in their order, which is also that of the objects which they find."""
        return tuple(node for group in self.groups for node in group)

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(node.name for node in group) for group in self.groups)

    def idle_after(self, node: DagNode, outputs: Mapping[str, Sequence[Region]]) -> list[str]:
        """The recognise nodes after a node with a choice that are known to have nothing to look at.

        They are known where the output of the node that they take from is. Other nodes do something for every frame.
        """
        known = [each for each in self._later[node.name] if each.source is not None and each.source.node in outputs]
        return [each.name for each in known if not each.select(outputs)]

    @cached_property
    def _later(self) -> Mapping[str, Sequence[DagNode]]:
        """By node, the recognise nodes after one with a choice."""
        places = enumerate(self.nodes)
        later = {node.name: self.nodes[place + 1 :] if len(node.models) > 1 else () for place, node in places}
        return {name: [each for each in after if each.spec.task == "recognise"] for name, after in later.items()}


def compile_dag(query: Query) -> Dag:
    """Order the nodes, those of equal rank as in the file; raises QueryError with a line per problem."""
    problems = node_problems(dict(enumerate(query.nodes)))
    if problems:
        raise QueryError("\n".join(map(str, problems)))
    by_name = {spec.name: spec for spec in query.nodes}
    scenes = len(query.pictures) < max(1, len(query.streams))
    nodes = [_compiled(_with_answer(spec, by_name, scenes), by_name) for spec in _ordered(query.nodes)]
    return Dag(query.name, query.slo_ms, _grouped(nodes), query.priority)


def _grouped(nodes: Sequence[DagNode]) -> tuple[tuple[DagNode, ...], ...]:
    """The nodes in their order; each is in the group of those before it where it depends on none of them."""
    by_name, groups = {node.name: node for node in nodes}, list[list[DagNode]]()
    for node in nodes:
        if groups and not any(depends(node, before, by_name) for before in groups[-1]):
            groups[-1].append(node)
        else:
            groups.append([node])
    return tuple(map(tuple, groups))


def depends(node: DagNode, before: DagNode, by_name: Mapping[str, DagNode]) -> bool:
    """Whether a node takes from one before it, or may read what that one notes on the objects of both.

    A recogniser reads tracks; what operators of the user's read and note is not known.
    """
    if node.source is not None and node.source.node == before.name:
        return True
    if way_to(node, by_name)[-1] is not way_to(before, by_name)[-1]:
        return False
    if isinstance(node.spec, OwnNode) or isinstance(before.spec, OwnNode):
        return True
    return isinstance(before.spec, TrackNode) and isinstance(node.spec, RecogniseNode)


def _with_answer(spec: NodeSpec, by_name: Mapping[str, NodeSpec], scenes: bool) -> NodeSpec:
    """The node, which says what it answers for. ``scenes``: frames of a stream show the same one."""
    if not isinstance(spec, RecogniseNode) or spec.answer is not None:
        return spec
    lasts = tracked(spec, by_name) or ((scenes or bool(spec.endpoints)) and of_frames(spec, by_name))
    return spec.model_copy(update={"answer": "track" if lasts else "look"})


def _compiled(spec: NodeSpec, by_name: Mapping[str, NodeSpec]) -> DagNode:
    if takes_frame(spec):
        return DagNode(spec, None, {})
    source = parse_selection(spec.input or "")
    return DagNode(spec, source, answers_before(source.node, by_name) or {})


def _ordered(specs: Sequence[NodeSpec]) -> Iterator[NodeSpec]:
    pending: list[NodeSpec] = list(specs)
    done: set[str | None] = {None}
    while pending:
        spec = next(spec for spec in pending if source_of(spec) in done)
        pending.remove(spec)
        done.add(spec.name)
        yield spec


def way_to(node: DagNode | None, nodes: Mapping[str, DagNode]) -> list[DagNode]:
    """The node and those before it, back to that which makes its objects."""
    specs = {name: each.spec for name, each in nodes.items()}
    return [] if node is None else [nodes[spec.name] for spec in lineage(node.name, specs)]


def passes(way: Sequence[DagNode], region: Region) -> bool:
    """Whether an object on which no recogniser has answered yet may come through the filters of these nodes."""
    return all(node.lets_pass(region) for node in way)


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query and what is found out of it once, before anything runs."""

    query: Query
    dag: Dag
    """The query's nodes, in the order in which they run."""
    catalogue: Catalogue
    """Where its models are looked up."""

    @property
    def versions(self) -> dict[str, str]:
        """The versions of its models, by name."""
        models = {name for node in self.dag.nodes for name in node.models if name in self.catalogue.names()}
        return {name: self.catalogue.find(name).card.version for name in sorted(models)}


def compiled(query: Query, catalogue: Catalogue) -> CompiledQuery:
    """Order the nodes of a query; raises QueryError with a line per problem."""
    return CompiledQuery(query, compile_dag(query), catalogue)
