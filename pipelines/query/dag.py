"""From the nodes of a query to the order in which they run. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.query.filter_parser import FilterError, UnknownField, parse_selection, source_name
from pipelines.query.filters import NUMBER_FIELDS, TEXT_FIELDS, ZONE, Facts, Selection, leaves
from pipelines.query.nodes import FRAME, MOTION, DetectNode, NodeSpec, OwnNode, RecogniseNode, TrackNode, takes_frame
from pipelines.query.query_file import Query
from serving.common.explain import Problem, choices
from serving.errors import QueryError

if TYPE_CHECKING:
    from operators.frames.frame import Region

STAGES = ("capture", "queue", "decode", "framework")
"""Stages of every frame in a result's ``plan``, beside the nodes: nodes cannot have these names."""
RESERVED = (FRAME, *STAGES, *TEXT_FIELDS, *NUMBER_FIELDS, "and", "or", "not", "in")


@dataclass(frozen=True)
class DagNode:
    """A node in its place."""

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
        return _makes_regions(self.spec)

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
        """The names of the nodes of each group."""
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


def node_problems(specs: Mapping[int, NodeSpec], unread: Collection[str] = ()) -> list[Problem]:
    """Faults between nodes, by their place in the file. Only the names of ``unread`` are known."""
    by_name = {spec.name: spec for spec in reversed(list(specs.values()))}
    inputs = [problem for index, spec in specs.items() for problem in _input_problems(index, spec, by_name, unread)]
    untracked = [problem for index, spec in specs.items() for problem in _answer_problems(index, spec, by_name)]
    always = [
        problem
        for index, spec in specs.items()
        for problem in (*_when_problems(index, spec), *_detail_problems(index, spec))
    ]
    return [*_name_problems(specs), *inputs, *untracked, *always, *_cycle_problems(specs, by_name)]


def _with_answer(spec: NodeSpec, by_name: Mapping[str, NodeSpec], scenes: bool) -> NodeSpec:
    """The node, which says what it answers for. ``scenes``: frames of a stream show the same one."""
    if not isinstance(spec, RecogniseNode) or spec.answer is not None:
        return spec
    lasts = _tracked(spec, by_name) or ((scenes or bool(spec.endpoints)) and _of_frames(spec, by_name))
    return spec.model_copy(update={"answer": "track" if lasts else "look"})


def _compiled(spec: NodeSpec, by_name: Mapping[str, NodeSpec]) -> DagNode:
    if takes_frame(spec):
        return DagNode(spec, None, {})
    source = parse_selection(spec.input or "")
    return DagNode(spec, source, _answers(source.node, by_name) or {})


def _ordered(specs: Sequence[NodeSpec]) -> Iterator[NodeSpec]:
    pending: list[NodeSpec] = list(specs)
    done: set[str | None] = {None}
    while pending:
        spec = next(spec for spec in pending if _source(spec) in done)
        pending.remove(spec)
        done.add(spec.name)
        yield spec


def _source(spec: NodeSpec) -> str | None:
    return None if spec.input is None or takes_frame(spec) else source_name(spec.input)


def lineage(node: str | None, by_name: Mapping[str, NodeSpec]) -> list[NodeSpec]:
    """The node and those before it, back to that which made its regions; it ends early in a broken query."""
    found: list[NodeSpec] = []
    while node is not None and node in by_name and by_name[node] not in found:
        found.append(by_name[node])
        node = None if isinstance(found[-1], DetectNode) else _source(found[-1])
    return found


def _makes_regions(spec: NodeSpec) -> bool:
    return isinstance(spec, DetectNode) or takes_frame(spec)


def way_to(node: DagNode | None, nodes: Mapping[str, DagNode]) -> list[DagNode]:
    """The node and those before it, back to that which makes its objects."""
    specs = {name: each.spec for name, each in nodes.items()}
    return [] if node is None else [nodes[spec.name] for spec in lineage(node.name, specs)]


def passes(way: Sequence[DagNode], region: Region) -> bool:
    """Whether an object on which no recogniser has answered yet may come through the filters of these nodes."""
    return all(node.lets_pass(region) for node in way)


def _answers(node: str | None, by_name: Mapping[str, NodeSpec]) -> dict[str, str] | None:
    """Nodes that have answered by the end of ``node``, with their attributes; None where nobody can know."""
    before = lineage(node, by_name)
    if not before or not _makes_regions(before[-1]):
        return None
    return {spec.name: spec.attribute for spec in before if isinstance(spec, RecogniseNode | OwnNode)}


def _name_problems(specs: Mapping[int, NodeSpec]) -> Iterator[Problem]:
    names: dict[str, int] = {}
    attributes: dict[str, int] = {}
    for index, spec in specs.items():
        if spec.name in RESERVED:
            yield Problem(("nodes", index, "name"), f"{spec.name!r} has a meaning of its own: choose another name")
        if names.setdefault(spec.name, index) != index:
            yield Problem(("nodes", index, "name"), f"{spec.name!r} is the name of nodes[{names[spec.name]}] too")
        elif isinstance(spec, RecogniseNode | OwnNode) and attributes.setdefault(spec.attribute, index) != index:
            other = attributes[spec.attribute]
            yield Problem(("nodes", index, "attribute"), f"{spec.attribute!r} is the attribute of nodes[{other}] too")


def _input_problems(
    index: int, spec: NodeSpec, by_name: Mapping[str, NodeSpec], unread: Collection[str]
) -> Iterator[Problem]:
    if spec.input is None or (takes_frame(spec) and not isinstance(spec, TrackNode)):
        return
    if source_name(spec.input) == FRAME:
        yield Problem(("nodes", index, "input"), _no_node(spec))
        return
    path, source = ("nodes", index, "input"), _source(spec)
    if source is not None and source not in by_name and source not in unread:
        others = [name for name in (*by_name, *unread) if name != spec.name]
        yield Problem(path, f"there is no node {source!r}{choices(source, others)}")
    try:
        parse_selection(spec.input, _answers(source, by_name))
    except UnknownField as error:
        late = isinstance(by_name.get(error.field), RecogniseNode | OwnNode)
        hint = f"; {error.field!r} has not answered there, use it as the input: {error.field}[…]" if late else ""
        yield Problem(path, f"{error}{hint}")
    except FilterError as error:
        yield Problem(path, str(error))


def _no_node(spec: NodeSpec) -> str:
    """Why a node's input cannot be the frame as it says."""
    if isinstance(spec, TrackNode):
        return f"{FRAME!r} is no object that could be tracked: name a node that detects"
    return f"{FRAME!r} is all of the frame and has no filter: write input: {FRAME}"


def _answer_problems(index: int, spec: NodeSpec, by_name: Mapping[str, NodeSpec]) -> Iterator[Problem]:
    """Faults of a node that answers for tracks."""
    if not isinstance(spec, RecogniseNode) or (spec.answer != "track" and not spec.endpoints):
        return
    made = _makes_regions(lineage(spec.name, by_name)[-1])
    if made and not _tracked(spec, by_name) and not _of_frames(spec, by_name):
        remedy = "put a node with task: track before"
        if spec.endpoints:
            yield Problem(("nodes", index, "model"), f"an endpoint is asked once for each tracked object: {remedy}")
        else:
            yield Problem(("nodes", index, "answer"), f"nothing tracks these objects: {remedy}, or say look")


def _when_problems(index: int, spec: NodeSpec) -> Iterator[Problem]:
    """Detectors that must see every frame."""
    if not isinstance(spec, DetectNode) or spec.when == "always":
        return
    if spec.model[0] == MOTION:
        yield Problem(("nodes", index, "when"), "motion learns from every frame: say always, or name another detector")
    elif not takes_frame(spec):
        yield Problem(("nodes", index, "when"), "only a detector of whole frames can skip some: say always")


def _detail_problems(index: int, spec: NodeSpec) -> Iterator[Problem]:
    """Faults of a detector that is shown frames at another size."""
    if not isinstance(spec, DetectNode):
        return
    if spec.detail_cost != DetectNode.model_fields["detail_cost"].default and spec.detail != "auto":
        yield Problem(("nodes", index, "detail_cost"), "bounds what is chosen: say detail: auto, or remove it")
    if spec.detail is None:
        return
    if spec.model[0] == MOTION or not takes_frame(spec):
        yield Problem(("nodes", index, "detail"), "only for networks that look at whole frames: remove it")
    elif len(spec.model) > 1:
        yield Problem(("nodes", index, "detail"), "each of several models has a size of its own: name one model")


def _tracked(spec: NodeSpec, by_name: Mapping[str, NodeSpec]) -> bool:
    return any(isinstance(node, TrackNode) for node in lineage(spec.name, by_name))


def _of_frames(spec: NodeSpec, by_name: Mapping[str, NodeSpec]) -> bool:
    """Whether the objects of a node are whole frames."""
    first = lineage(spec.name, by_name)[-1]
    return isinstance(first, RecogniseNode) and takes_frame(first)


def _cycle_problems(specs: Mapping[int, NodeSpec], by_name: Mapping[str, NodeSpec]) -> Iterator[Problem]:
    """One problem per circle; every node has one input at most, so following it finds them all."""
    walked: set[str] = set()
    for index, spec in specs.items():
        trail: list[str] = []
        name = spec.name
        while name in by_name and name not in trail and name not in walked:
            trail.append(name)
            name = _source(by_name[name]) or ""
        if name in trail:
            circle = " → ".join(reversed([*trail[trail.index(name) :], name]))
            yield Problem(("nodes", index, "input"), f"goes in a circle: {circle}; one of them needs another input")
        walked.update(trail)
