"""The tables that a query's planner chooses from, made of what was measured of models on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING

from pipelines.planning.options import Option, Table
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
    known: dict[str, VariantFigures] = field(default_factory=dict)
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
                found = measured(model)
            except ModelError as error:
                tables.faults.append(str(error))
                found = None
            if found is None:
                tables.unknown.append(model)
            else:
                tables.known[model] = found
        return tables

    def table(self, node: str) -> Table | None:
        """The options of a node; None as long as its first listed model was not measured: then that one runs."""
        models = self.nodes[node].models
        if models[0] not in self.known:
            return None
        return Table(tuple(option(model, self.known[model]) for model in models if model in self.known))

    def ratio(self, model: str, plans: Replanning) -> float | None:
        """Service time over measured time at the node of a model; of several nodes, where that differs most."""
        ratios = [plans.ratio(node) for node, each in self.nodes.items() if model in each.models]
        known = [ratio for ratio in ratios if ratio is not None]
        return max(known, key=lambda ratio: abs(log(ratio)), default=None)

    def ready(self) -> dict[str, Table]:
        """The tables that there are, by node."""
        found = {node: self.table(node) for node in self.nodes}
        return {node: table for node, table in found.items() if table is not None}


def option(model: str, known: VariantFigures) -> Option:
    """A model as the planner sees it."""
    return Option.of(model, known.agreement, LatencyTable(known.tail_s))
