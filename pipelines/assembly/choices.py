"""The options of a query's planner, as far as they are known before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING

from pipelines.planning.options import Option, Table
from pipelines.planning.plan import Choice, first_plan
from pipelines.query.dag import Dag, DagNode
from pipelines.query.nodes import is_planned
from serving.errors import ModelError
from serving.scheduling.estimates import LatencyTable
from serving.variants.timings import VariantFigures

if TYPE_CHECKING:
    from pipelines.planning.replanning import Replanning


@dataclass
class Tables:
    """The figures of the models of nodes that list several."""

    nodes: Mapping[str, DagNode]
    figures: dict[str, VariantFigures] = field(default_factory=dict)
    """By model."""
    unknown: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Measurements that cannot be used, one line each."""

    @classmethod
    def read(cls, dag: Dag, measured: Callable[[str], VariantFigures | None]) -> Tables:
        """Read what was ``measured`` of all models between which there is a choice; ModelErrors become ``faults``."""
        nodes = {node.name: node for node in dag.nodes if is_planned(node.spec)}
        tables = cls(nodes)
        for model in dict.fromkeys(model for node in nodes.values() for model in node.models):
            try:
                figures = measured(model)
            except ModelError as error:
                tables.faults.append(str(error))
                figures = None
            if figures is None:
                tables.unknown.append(model)
            else:
                tables.figures[model] = figures
        return tables

    def table(self, node: str) -> Table | None:
        """The options of a node; None as long as its first listed model was not measured: then that one runs."""
        models = self.nodes[node].models
        if models[0] not in self.figures:
            return None
        return Table(tuple(option(model, self.figures[model]) for model in models if model in self.figures))

    def ratio(self, model: str, plans: Replanning) -> float | None:
        """Service time over measured time at the node of a model; of several nodes, where that differs most."""
        ratios = [plans.ratio(node) for node, each in self.nodes.items() if model in each.models]
        told = [ratio for ratio in ratios if ratio is not None]
        return max(told, key=lambda ratio: abs(log(ratio)), default=None)

    def ready(self) -> dict[str, Table]:
        """The tables that there are, by node."""
        tables = {node: self.table(node) for node in self.nodes}
        return {node: table for node, table in tables.items() if table is not None}


def option(model: str, figures: VariantFigures) -> Option:
    return Option.of(model, figures.agreement, LatencyTable(figures.tail_s))


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of a query's nodes, and how far their times are known."""

    tables: Tables
    first: Mapping[str, Choice]
    """The first choice of nodes whose times are known, for one object each."""


def choices(dag: Dag, measured: Callable[[str], VariantFigures | None]) -> Choices:
    """The options, by what was measured here; nodes whose networks were not measured are left out."""
    tables = Tables.read(dag, measured)
    figures = {node.name: each for node in dag.nodes if (each := _measured(node, tables, measured)) is not None}
    options = tables.ready() | {
        node.name: Table((option(node.models[0], figures[node.name]),))
        for node in dag.nodes
        if node.name in figures and node.name not in tables.nodes
    }
    groups = [{node.name: options[node.name] for node in group if node.name in options} for group in dag.groups]
    return Choices(tables, first_plan(groups, dag.slo_ms / 1000))


def _measured(node: DagNode, tables: Tables, measured: Callable[[str], VariantFigures | None]) -> VariantFigures | None:
    """The figures of a node's first listed model."""
    if not node.has_network:
        return None
    if node.name in tables.nodes:
        return tables.figures.get(node.models[0])
    try:
        return measured(node.models[0])
    except ModelError as error:
        tables.faults.append(str(error))
        return None


def doubts(choices: Choices) -> Sequence[str]:
    """Doubts that are worth a look: measurements that cannot be used, an SLO that is too short."""
    return [*choices.tables.faults, *shortages(choices)]


def shortages(choices: Choices) -> list[str]:
    """A line for each node whose fastest model takes longer than the SLO leaves it."""
    lines = []
    for name, each in choices.first.items():
        if not each.fits:
            short_ms = 1000 * (each.takes_s - each.budget_s)
            lines.append(
                f"{name}: the fastest model, {each.variant}, takes {1000 * each.takes_s:.1f} ms for one object, "
                f"{short_ms:.1f} ms more than slo_ms leaves it: give more time or list a faster model"
            )
    return lines
