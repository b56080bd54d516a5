"""How the nodes of a query follow each other, and what can be wrong in that. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pipelines.query.filter_parser import FilterError, UnknownField, parse_selection, source_name
from pipelines.query.filters import NUMBER_FIELDS, TEXT_FIELDS
from pipelines.query.nodes import FRAME, MOTION, DetectNode, NodeSpec, OwnNode, RecogniseNode, TrackNode, takes_frame
from serving.common.explain import Problem, choices

STAGES = ("capture", "queue", "decode", "framework")
"""Stages of every frame in a result's ``plan``, beside the nodes: nodes cannot have these names."""
RESERVED = (FRAME, *STAGES, *TEXT_FIELDS, *NUMBER_FIELDS, "and", "or", "not", "in")


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


def lineage(node: str | None, by_name: Mapping[str, NodeSpec]) -> list[NodeSpec]:
    """The node and those before it, back to that which made its regions; it ends early in a broken query."""
    found: dict[str, NodeSpec] = {}
    while node is not None and node in by_name and node not in found:
        spec = found[node] = by_name[node]
        node = None if isinstance(spec, DetectNode) else source_of(spec)
    return list(found.values())


def source_of(spec: NodeSpec) -> str | None:
    return None if spec.input is None or takes_frame(spec) else source_name(spec.input)


def makes_regions(spec: NodeSpec) -> bool:
    return isinstance(spec, DetectNode) or takes_frame(spec)


def answers_before(node: str | None, by_name: Mapping[str, NodeSpec]) -> dict[str, str] | None:
    """Nodes that have answered by the end of ``node``, with their attributes; None where nobody can know."""
    before = lineage(node, by_name)
    if not before or not makes_regions(before[-1]):
        return None
    return {spec.name: spec.attribute for spec in before if isinstance(spec, RecogniseNode | OwnNode)}


def tracked(spec: NodeSpec, by_name: Mapping[str, NodeSpec]) -> bool:
    return any(isinstance(node, TrackNode) for node in lineage(spec.name, by_name))


def of_frames(spec: NodeSpec, by_name: Mapping[str, NodeSpec]) -> bool:
    """Whether the objects of a node are whole frames."""
    first = lineage(spec.name, by_name)[-1]
    return isinstance(first, RecogniseNode) and takes_frame(first)


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
    path, source = ("nodes", index, "input"), source_of(spec)
    if source is not None and source not in by_name and source not in unread:
        others = [name for name in (*by_name, *unread) if name != spec.name]
        yield Problem(path, f"there is no node {source!r}{choices(source, others)}")
    try:
        parse_selection(spec.input, answers_before(source, by_name))
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
    made = makes_regions(lineage(spec.name, by_name)[-1])
    if made and not tracked(spec, by_name) and not of_frames(spec, by_name):
        remedy = "put a node with task: track before"
        if spec.endpoints:
            yield Problem(("nodes", index, "model"), f"an endpoint is asked once for each tracked object: {remedy}")
        else:
            yield Problem(("nodes", index, "answer"), f"nothing tracks these objects: {remedy}, or say look")


def _when_problems(index: int, spec: NodeSpec) -> Iterator[Problem]:
    """Detectors that must see every frame, or all of it, or find nothing."""
    if isinstance(spec, DetectNode) and spec.motion.min_area > spec.motion.max_area:
        yield Problem(("nodes", index, "motion"), "min_area is above max_area: nothing lies between")
    if isinstance(spec, DetectNode) and "motion" in spec.model_fields_set and spec.model[0] != MOTION:
        yield Problem(("nodes", index, "motion"), "only for model: motion: remove it, or name that")
    if isinstance(spec, DetectNode) and spec.model[0] == MOTION and not takes_frame(spec):
        remedy = "remove it, or name another detector"
        yield Problem(("nodes", index, "input"), f"motion looks at all of the frame: {remedy}")
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


def _cycle_problems(specs: Mapping[int, NodeSpec], by_name: Mapping[str, NodeSpec]) -> Iterator[Problem]:
    """One problem per circle; every node has one input at most, so following it finds them all."""
    walked: set[str] = set()
    for index, spec in specs.items():
        trail: list[str] = []
        name = spec.name
        while name in by_name and name not in trail and name not in walked:
            trail.append(name)
            name = source_of(by_name[name]) or ""
        if name in trail:
            circle = " → ".join(reversed([*trail[trail.index(name) :], name]))
            yield Problem(("nodes", index, "input"), f"goes in a circle: {circle}; one of them needs another input")
        walked.update(trail)
