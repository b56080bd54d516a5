"""The budgets of a query while it runs: who draws on which, and who hears how they stand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from operators.audits.roles import Roles
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from pipelines.assembly.engine import QueryEngine
from pipelines.assembly.environment import Environment
from pipelines.assembly.paid_inference import CallWorks, NodePurse, PaidInference, PaidMeasures
from pipelines.environment import ledger_path
from pipelines.planning.within import Paid
from pipelines.query.budgets import NodeBudget
from pipelines.query.dag import CompiledQuery, DagNode
from pipelines.query.nodes import MOTION, NetworkNode
from serving.budgets.day_budget import BudgetTeller, DayBudget
from serving.budgets.energy import EnergyMeter, gpu_power, processor_energy
from serving.budgets.ledger import FileLedger
from serving.budgets.node_spending import NodeSpending
from serving.budgets.prices import CallWork
from serving.budgets.terms import BudgetTerms
from serving.common.clock import Clock
from serving.errors import BadInput
from serving.variants.variant import ANYWHERE, ON, placed

MEASURING = "the planner"
"""Has no share of the day: it measures seldom, and much at once."""


@dataclass
class _Places:
    """The models of a node by their names at places."""

    backends: dict[str, str | None] = field(default_factory=dict)
    """The backend of each; None for this machine."""
    autos: dict[str, list[str]] = field(default_factory=dict)
    """The names of each model that may be anywhere."""

    def add(self, model: str, everywhere: Collection[str]) -> None:
        served, backend = placed(model)
        if backend != ANYWHERE:
            self.backends.setdefault(model, backend)
            return
        names: dict[str, str | None] = {served: None, **{f"{served}{ON}{each}": each for each in everywhere}}
        self.autos[model] = list(names)
        self.backends |= names


class Spending:
    """Used from one event loop."""

    def __init__(
        self, budgets: Mapping[str, DayBudget], backends: Collection[str], clock: Clock, observer: Observer = UNOBSERVED
    ) -> None:
        """``budgets``: by holder; ``backends``: the names of those where models may be that may be anywhere."""
        self._budgets, self._backends, self._clock = budgets, backends, clock
        self._teller = BudgetTeller(budgets.values(), clock, observer.budget_stands)
        self.paid: dict[str, Paid] = {}
        """For the planner: by node."""
        self.engines: dict[str, Inference] = {}
        """By node, for those that draw on a budget."""

    def add(self, node: DagNode, engine: Inference, meter: EnergyMeter | None) -> None:
        """Have a node pay for its calls, if it draws on a budget."""
        if not node.models or MOTION in node.models:
            return
        places = _Places()
        for model in (*node.models, Roles.of(node.models, engine.card).oracle):
            places.add(model, self._backends)
        own = self._budgets.get(f"node {node.name}")
        works = CallWorks(engine, meter, uses_cards=own is None or own.terms.prices.watts is None)
        work_of = partial(_work, works, places.backends)
        spending = NodeSpending(node.name, places.backends, self._budgets, work_of)
        if spending.is_bounded:
            purse = NodePurse(spending, works, places.autos, self._clock)
            self.paid[node.name] = purse.paid
            self.engines[node.name] = PaidInference(engine, purse, self._teller.called)

    def measuring(self, nodes: Collection[DagNode], engine: QueryEngine) -> PaidMeasures:
        """The engine for the planner, which may measure models of any node."""
        places, works = _Places(), CallWorks(engine)
        for model in (model for node in nodes for model in node.models if model != MOTION):
            places.add(model, self._backends)
        work_of = partial(_work, works, places.backends)
        spending = NodeSpending(MEASURING, places.backends, self._budgets, work_of, has_share=False)
        purse = NodePurse(spending, works, places.autos, self._clock)
        return PaidMeasures(engine, purse, self._teller.called)

    def close(self) -> None:
        """Give back what was not spent, and say how the budgets stand."""
        self._teller.close()


def spending(wanted: CompiledQuery, environment: Environment) -> Spending:
    """That of a query; raises BadInput where nothing tells what its nodes' energy is, or its file is damaged."""
    terms, meter, engine, clock = (
        list(_terms(wanted)),
        gpu_power() or processor_energy(),
        environment.engine,
        environment.clock,
    )
    ledger = FileLedger(ledger_path(wanted.query.name))
    budgets = {each.holder: DayBudget(each, ledger, clock.now) for each in terms}
    found = Spending(budgets, wanted.query.backends, clock, environment.observer)
    for node in wanted.dag.nodes:
        if isinstance(node.spec, NetworkNode) and node.spec.budget is not None and meter is None:
            _check_energy(node, node.spec.budget, engine)
        found.add(node, engine, meter)
    return found


def _terms(wanted: CompiledQuery) -> Iterator[BudgetTerms]:
    for node in wanted.dag.nodes:
        if isinstance(node.spec, NetworkNode) and (own := node.spec.budget) is not None:
            yield own.terms(f"node {node.name}", own.prices)
    for name, backend in wanted.query.backends.items():
        if (budget := backend.budget) is not None:
            yield budget.terms(f"backend {name}", budget.prices)


def _check_energy(node: DagNode, budget: NodeBudget, engine: Inference) -> None:
    """On a machine that does not measure its energy."""
    if not budget.prices.needs_energy or budget.price.watts is not None:
        return
    here = [model for model in node.models if placed(model)[1] in (None, ANYWHERE)]
    unknown = [model for model in here if engine.card(model).joules is None]
    if unknown:
        raise BadInput(
            f"node {node.name}: budget: nothing on this machine tells the energy of {', '.join(unknown)}: say "
            "price.watts, what a busy processor draws, or joules in the cards of the models"
        )


def _work(works: CallWorks, backends: Mapping[str, str | None], model: str, pictures: int) -> CallWork:
    return (works.here if backends.get(model) is None else works.elsewhere)(model, pictures)
