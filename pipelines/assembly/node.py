"""From a node of a query to its operator: one function for each kind of node, by its ``task``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from operators.base import Operator, make_ready
from operators.recognise.own import OwnRecogniser
from operators.recognise.whole_frame import WholeFrame
from operators.track.operator import Track
from operators.track.tracker import TrackSettings
from operators.wire.bounds import MOST_OBJECTS
from pipelines.assembly.detect import detect, located
from pipelines.assembly.environment import Environment
from pipelines.query.dag import Dag
from pipelines.query.nodes import NodeSpec, OwnNode, RecogniseNode, TrackNode, takes_frame

Builder = Callable[[Any, Environment], Operator]
"""Makes the operator of one kind of node."""


def node(spec: NodeSpec, environment: Environment) -> Operator:
    """The operator of a node; raises BadInput where its model or gallery cannot be used."""
    return BUILDERS.get(spec.task, _own)(spec, environment)


async def nodes(dag: Dag, environment: Environment) -> dict[str, Operator]:
    """The operator of every node, by name, ready for frames.

    Every model is loaded now: a wrong one ends the command with one line, and the first frame need not wait.
    """
    made = {each.name: node(each.spec, environment.at(each.name)) for each in dag.nodes}
    for operator in made.values():
        await make_ready(operator)
    return made


def track_settings(spec: TrackNode) -> TrackSettings:
    return TrackSettings(spec.confirm_s, spec.lost_after_s, spec.max_distance)


def tracker_names(specs: Iterable[NodeSpec]) -> list[str]:
    """Those of a query's trackers; the place of one among them is part of its tracks' ids."""
    return sorted(spec.name for spec in specs if isinstance(spec, TrackNode))


def _track(spec: TrackNode, environment: Environment) -> Operator:
    trackers = tracker_names(each.spec for each in environment.nodes.values()) or [spec.name]
    return Track(track_settings(spec), trackers.index(spec.name), len(trackers))


def _recognise(spec: RecogniseNode, environment: Environment) -> Operator:
    # Brings chains of looks and their audits: not for those who only detect and track.
    from pipelines.assembly.recognise import recognise

    return recognise(spec, environment)


def _own(spec: OwnNode, environment: Environment) -> Operator:
    operator: Operator = spec.make(f"node {spec.name}", name=spec.name)
    if isinstance(operator, OwnRecogniser):
        return WholeFrame(spec.name, operator) if takes_frame(spec) else operator
    return located(operator, environment, MOST_OBJECTS if environment.masks and takes_frame(spec) else None)


BUILDERS: Mapping[str, Builder] = {
    "detect": detect,
    "track": _track,
    "recognise": _recognise,
}
"""For the kinds of nodes that ship."""
