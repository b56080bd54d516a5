"""The options of a query's planner, for ``sluice check``: as far as they are known before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any

from pipelines.planning.latency_split import LatencySplit, best_split
from pipelines.planning.options import Option, Table
from pipelines.planning.plan import Choice, first_plan
from pipelines.planning.stage_shares import in_stages
from pipelines.query.dag import Dag, DagNode
from pipelines.query.nodes import DetectNode, is_planned
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


OBJECTS = (1, 4, 16)
"""Numbers of objects for which times are shown."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of a query's nodes, and how far their times are known."""

    tables: Tables
    slo_ms: float
    first: Mapping[str, Choice]
    """The first choice of nodes whose times are known, for one object each."""
    split: LatencySplit | None
    """The budgets with which a device serves the most frames, one object each; None where that is not known."""


def choices(dag: Dag, measured: Callable[[str], VariantFigures | None]) -> Choices:
    """The options, by what was measured here; nodes whose networks were not measured are left out."""
    tables = Tables.read(dag, measured)
    known = {node.name: each for node in dag.nodes if (each := _measured(node, tables, measured)) is not None}
    options = tables.ready() | {
        node.name: Table((option(node.models[0], known[node.name]),))
        for node in dag.nodes
        if node.name in known and node.name not in tables.nodes
    }
    slo_s = dag.slo_ms / 1000
    groups = [{node.name: options[node.name] for node in group if node.name in options} for group in dag.groups]
    first = first_plan(groups, slo_s)
    complete = all(node.name in known for node in dag.nodes if node.has_network)
    curves = {name: each.tail_s for name, each in known.items()}
    split = best_split(in_stages(dag.names, curves, {}), slo_s) if complete and known else None
    return Choices(tables, dag.slo_ms, first, split)


def _measured(node: DagNode, tables: Tables, measured: Callable[[str], VariantFigures | None]) -> VariantFigures | None:
    """The figures of a node's first listed model."""
    if not node.has_network:
        return None
    if node.name in tables.nodes:
        return tables.known.get(node.models[0])
    try:
        return measured(node.models[0])
    except ModelError as error:
        tables.faults.append(str(error))
        return None


def as_json(found: Choices) -> dict[str, Any]:
    """The same for scripts."""
    nodes = {
        name: [
            {
                "model": each.variant,
                "agreement": each.accuracy,
                "ms": {str(n): round(1000 * each.takes_s(n), 2) for n in _counts(found, name)},
            }
            for each in table.options
        ]
        for name, table in found.tables.ready().items()
    }
    budgets = {name: round(1000 * each.budget_s, 1) for name, each in found.first.items()}
    return {"models": nodes, "unmeasured": found.tables.unknown, "budgets_ms": budgets}


def lines(found: Choices) -> list[str]:
    """Lines for people: a table for each node with a choice, then how the SLO is shared."""
    said: list[str] = []
    for name, table in found.tables.ready().items():
        counts = _counts(found, name)
        head = "".join(
            f"{'a frame' if len(counts) == 1 else '1 object' if n == 1 else f'{n} objects':>12}" for n in counts
        )
        width = max(len(each.variant) for each in table.options)
        said.append(f"  {name} runs the first of these that has the time:")
        said.append(f"    {'':<{width}}{head}   agreement")
        for each in table.options:
            times = "".join(f"{1000 * each.takes_s(n):>9.1f} ms" for n in counts)
            agreement = "not measured" if each.accuracy is None else f"{each.accuracy:.3f}"
            said.append(f"    {each.variant:<{width}}{times}   {agreement}")
    if found.tables.unknown:
        names = ", ".join(found.tables.unknown)
        said.append(f"  not measured here, so timed when the query first runs and not chosen before: {names}")
    return [*said, *_shared(found)]


def _counts(found: Choices, node: str) -> Sequence[int]:
    """Numbers of objects for which times are shown; a detector takes frames."""
    return OBJECTS[:1] if isinstance(found.tables.nodes[node].spec, DetectNode) else OBJECTS


def _shared(found: Choices) -> list[str]:
    said = list[str]()
    if found.tables.nodes and found.first:
        shares = ", ".join(f"{name} {1000 * each.budget_s:.0f}" for name, each in found.first.items())
        said.append(f"  of {found.slo_ms:g} ms the nodes get at first, for one object: {shares} ms")
    if found.tables.nodes and found.split is not None:
        shares = ", ".join(f"{name} {1000 * each:.0f}" for name, each in found.split.budgets_s.items())
        rate = found.split.throughput
        said.append(f"  most frames a second with one object each ({rate:.0f}) in batches: {shares} ms")
    return said


def doubts(found: Choices) -> Sequence[str]:
    """Doubts that are worth a look: measurements that cannot be used, an SLO that is too short."""
    return [*found.tables.faults, *shortages(found)]


def shortages(found: Choices) -> list[str]:
    """A line for each node whose fastest model takes longer than the SLO leaves it."""
    said = []
    for name, each in found.first.items():
        if not each.fits:
            short_ms = 1000 * (each.takes_s - each.budget_s)
            said.append(
                f"{name}: the fastest model, {each.variant}, takes {1000 * each.takes_s:.1f} ms for one object, "
                f"{short_ms:.1f} ms more than slo_ms leaves it: give more time or list a faster model"
            )
    return said
