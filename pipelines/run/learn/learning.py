"""From a recording to the exits of a query's recognise nodes, which are stored, and to the fastest variant."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cache_adapt.learned import files
from pipelines.environment import artefacts_dir
from pipelines.measure.exit_files import exits_file
from pipelines.measure.stand_ins.contest_job import held_on
from pipelines.measure.stand_ins.roles import contests
from pipelines.query.dag import CompiledQuery
from pipelines.run.capture_specs import capture_specs
from pipelines.run.learn.choice import LearningNetwork, LearntExits, NothingLearnt, learnt
from pipelines.run.learn.costs import NetworkCosts, lookup_s, network_costs
from pipelines.run.learn.learnable import Learnable, LearnableNode
from pipelines.run.learn.pictures import pictured
from pipelines.run.learn.recording import OnProgress, RecordedLooks, check_recorded, recorded
from pipelines.run.learn.taken import TakenLooks
from serving.errors import BadInput, SluiceError
from serving.variants.contest import Contest


@dataclass(frozen=True)
class LearnRequest:
    """The recording, or the pictures."""

    limit: int | None
    """Sampled frames of each stream; None: all."""
    hwaccel: str
    pictures: Path | None = None
    """A folder in place of the query's streams."""


@dataclass(frozen=True)
class LearntNode:
    """The exits of one node."""

    node: LearnableNode
    looks: int
    costs: NetworkCosts | None = None
    """None where nobody looked."""
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
    contests: Mapping[str, Contest]
    """By network: how its variants compare, where one may stand in for it."""
    uncompared: Mapping[str, str]
    """By network: why its variants could not be compared."""


def learn(wanted: CompiledQuery, request: LearnRequest, report: OnProgress) -> LearnReport:
    """Look, learn and store; BadInput for a query without anything to learn, or streams without an end."""
    found, known = Learnable.of(wanted), contests(wanted.query, wanted.catalogue, artefacts_dir())
    if not found.nodes and not known:
        reasons = "; ".join(f"{node}: {why}" for node, why in found.others.items())
        raise BadInput(f"no network of {wanted.query.name} can have exits or a stand-in{reasons and f' ({reasons})'}")
    if request.pictures is None:
        check_recorded(wanted.query)
        specs = capture_specs(wanted.query, limit=request.limit, hwaccel=request.hwaccel)
        looking = recorded(wanted, found.nodes, list(known), specs, report)
    else:
        looking = pictured(wanted, found.nodes, list(known), request.pictures, report)
    looks = asyncio.run(looking)
    nodes = [_node(wanted, each, looks, report) for each in found.nodes]
    report("variants", 0.9)
    compared, uncompared = dict[str, Contest](), dict[str, str]()
    for model, (entry, contest) in known.items():
        try:
            compared[model] = contest or held_on(wanted.catalogue, entry, looks.shown[model], artefacts_dir())
        except SluiceError as error:
            uncompared[model] = str(error)
    return LearnReport(looks.frames, nodes, found.others, compared, uncompared)


def _node(wanted: CompiledQuery, node: LearnableNode, looks: RecordedLooks, report: OnProgress) -> LearntNode:
    name, taken = node.spec.name, looks.by_node[node.spec.name]
    if taken.item is None:
        return LearntNode(node, 0, why_not="nothing was looked at")
    report(f"{name}: costs", 0.3)
    costs = network_costs(node.entry, [cut.tensor for cut in node.cuts], taken.item)
    report(f"{name}: exits", 0.7)
    try:
        exits = _exits(wanted, node, taken, costs)
    except NothingLearnt as error:
        return LearntNode(node, taken.seen, costs, why_not=str(error))
    path = exits_file(node.entry, wanted.query.name, name)
    files.write(path, exits.artefact)
    return LearntNode(node, taken.seen, costs, exits, file=path)


def _exits(wanted: CompiledQuery, node: LearnableNode, taken: TakenLooks, costs: NetworkCosts) -> LearntExits:
    identity = node.entry.card.identity
    network = LearningNetwork(node.oracle, identity, node.cuts, node.vocabulary, costs, taken.rule)
    return learnt(network, taken.rows, wanted.query.accuracy, lookup_s)
