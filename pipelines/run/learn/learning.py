"""From a recording to the exits of a query's recognise nodes, which are stored, and to the fastest variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cache_adapt.learned import files
from pipelines.environment import artefacts_dir
from pipelines.measure.exit_files import exits_file
from pipelines.measure.stand_ins.roles import candidates, stood_in_for
from pipelines.query.dag import CompiledQuery
from pipelines.run.learn.choice import LearningNetwork, LearntExits, NothingLearnt, learnt
from pipelines.run.learn.costs import NetworkCosts, lookup_s, network_costs
from pipelines.run.learn.learnable import Learnable, LearnableNode
from pipelines.run.learn.pictures import pictured
from pipelines.run.learn.recording import OnProgress, RecordedLooks, RecordingOptions, check_recorded, recorded
from pipelines.run.learn.taken import TakenLooks
from serving.common.tensors import Array
from serving.errors import BadInput, SluiceError
from serving.profiling.agreement import AGREE
from serving.profiling.contest import ContestItems, held
from serving.variants.contest import Contest, read, store


@dataclass(frozen=True)
class LearnRequest:
    """The recording, or the pictures."""

    reading: RecordingOptions
    pictures: Path | None = None
    """A folder in place of the query's streams."""


@dataclass(frozen=True)
class LearntNode:
    """The exits of one node, and the contest of its network's variants."""

    node: LearnableNode
    looks: int
    costs: NetworkCosts | None = None
    """None where nobody looked."""
    contest: Contest | None = None
    """None where no variant may stand in for the network."""
    exits: LearntExits | None = None
    why_not: str = ""
    """Why there are no exits."""
    file: Path | None = None
    """Where they were written."""


@dataclass(frozen=True)
class LearnReport:
    """The result of ``sluice learn``."""

    frames: int
    nodes: Sequence[LearntNode]
    others: Mapping[str, str]
    """Recognise nodes for which there can be no exits, and why."""


def learn(wanted: CompiledQuery, request: LearnRequest, report: OnProgress) -> LearnReport:
    """Look, learn and store; BadInput for a query without anything to learn, or streams without an end."""
    found = Learnable.of(wanted)
    if not found.nodes:
        reasons = "; ".join(f"{node}: {why}" for node, why in found.others.items())
        raise BadInput(f"no recognise node of {wanted.query.name} can have exits{reasons and f' ({reasons})'}")
    if request.pictures is None:
        check_recorded(wanted.query)
        looks = recorded(wanted, found.nodes, request.reading, report)
    else:
        looks = pictured(wanted, found.nodes, request.pictures, report)
    nodes = [_node(wanted, each, looks, report) for each in found.nodes]
    return LearnReport(looks.frames, nodes, found.others)


def _node(wanted: CompiledQuery, node: LearnableNode, looks: RecordedLooks, report: OnProgress) -> LearntNode:
    name, taken = node.spec.name, looks.by_node[node.spec.name]
    if not taken.seen:
        return LearntNode(node, 0, why_not="nothing was looked at")
    report(f"{name}: costs", 0.3)
    costs = network_costs(node.entry, [cut.tensor for cut in node.cuts], taken.items[:1])
    report(f"{name}: variants", 0.5)
    contest = _contest(wanted, node, taken.items)
    report(f"{name}: exits", 0.7)
    try:
        exits = _exits(wanted, node, taken, costs)
    except NothingLearnt as error:
        return LearntNode(node, taken.seen, costs, contest, why_not=str(error))
    path = exits_file(node.entry, wanted.query.name, name)
    files.write(path, exits.artefact)
    return LearntNode(node, taken.seen, costs, contest, exits, file=path)


def _contest(wanted: CompiledQuery, node: LearnableNode, items: Array) -> Contest | None:
    """The contest that a run with `variants: auto` holds once it has run for long; it is kept for all runs."""
    variants, places = candidates(node.entry), artefacts_dir()
    if stood_in_for(node.spec, wanted.query.model_copy(update={"variants": "auto"})) is None or not variants:
        return None
    if (known := read(node.entry, places)) is not None:
        return known
    try:
        found = held(ContestItems(node.entry, items, None, AGREE[node.entry.card.task], places), variants)
    except SluiceError:
        return None  # too little was seen: a run sees more
    store(found, node.entry, places)
    return found


def _exits(wanted: CompiledQuery, node: LearnableNode, taken: TakenLooks, costs: NetworkCosts) -> LearntExits:
    network = LearningNetwork(node.oracle, node.entry.card.identity, node.cuts, node.vocabulary, costs)
    return learnt(network, taken.rows, wanted.query.accuracy, lookup_s)
