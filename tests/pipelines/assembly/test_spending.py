"""Nodes that pay for their calls."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from operators.observer import Observer
from operators.testing.engine import FakeEngine, card_of
from pipelines.assembly.environment import Environment
from pipelines.assembly.spending import Spending, spending
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from serving.budgets.day_budget import DayBudget
from serving.budgets.energy import EnergyMeter
from serving.budgets.ledger import FileLedger
from serving.budgets.prices import Amount, Prices
from serving.budgets.terms import BudgetReport, BudgetTerms, DayRule, Settlement
from serving.common.wire_use import called, counting
from serving.errors import BadInput, BudgetSpent, ModelError
from serving.scheduling.requests import PriceAt, Urgency, free
from tests.pipelines.queries import DETECT, TRACK, TYPE, query
from tests.serving.budgets.memory_ledger import MemoryLedger

MIDNIGHT = datetime(2026, 6, 1, tzinfo=UTC)
NOW = Urgency(1.0)
MODELS = ["large on gpu", "middle", "small"]


class Clock:
    now_s = 0.0

    def now(self) -> datetime:
        return MIDNIGHT + timedelta(seconds=self.now_s)

    def monotonic_s(self) -> float:
        return self.now_s


class Told(Observer):
    def __init__(self) -> None:
        self.reports: list[BudgetReport] = []

    def budget_stands(self, report: BudgetReport) -> None:
        self.reports.append(report)


class Engine(FakeEngine):
    """Two networks here, and one elsewhere that is sent 100 bytes for each picture."""

    place: str | None = None
    """Where models are run that may be anywhere."""
    prices: PriceAt = staticmethod(free)
    """Those that were told of last."""

    def place_of(self, model: str, price: PriceAt = free) -> str:
        self.prices = price
        return self.place or model

    def __init__(self) -> None:
        super().__init__(middle=_model("middle"), small=_model("small"))
        self._models |= {name: _model("large") for name in ("large on gpu", "large", "large on auto")}
        self.costs_s = {"middle": 0.1, "small": 0.01}
        self.fault: Exception | None = None

    async def infer(self, model: str, batch: Any, *more: Any, **others: Any) -> Any:
        if self.fault is not None:
            raise self.fault
        if model == "large on gpu":
            await asyncio.create_task(_sent(100 * len(batch)))
        return await super().infer(model, batch, *more, **others)


async def _sent(number: int) -> None:
    called(number)


def _model(name: str) -> Any:
    return card_of(name), lambda batch: [np.zeros((len(batch), 3), np.float32)]


def pictures(number: int) -> Any:
    return np.zeros((number, 3, 4, 4), np.float32)


def paying(engine: Engine, per_day: str, observer: Observer, meter: EnergyMeter | None = None, **prices: float) -> Any:
    """The engine of a node with such a budget, the budget, and its clock."""
    amount, clock = Amount.parse(per_day), Clock()
    budget = DayBudget(
        BudgetTerms("node type", amount, Prices(amount.unit, **prices), DayRule()), MemoryLedger(), clock.now
    )
    found = Spending({"node type": budget}, ["gpu"], clock, observer)
    nodes = compiled(query(DETECT, TRACK, TYPE | {"model": MODELS}), catalogue([])).dag.nodes
    for node in nodes:
        found.add(node, engine, meter)
    assert list(found.engines) == list(found.paid) == ["type"]
    return found.engines["type"], budget, clock, found


async def test_processor_time_calls_and_bytes_are_paid_as_they_were_used() -> None:
    told = Told()
    node, budget, clock, found = paying(
        Engine(), "86400 EUR", told, per_processor_s=1.0, per_call=0.01, per_gib=1024.0**3 / 1000
    )
    await node.infer("middle", pictures(2), NOW)
    clock.now_s += 1.0
    await node.infer("large on gpu", pictures(3), NOW)
    await node.infer("small", pictures(1), NOW)
    found.close()
    spent = {"middle": pytest.approx(0.2), "large on gpu": pytest.approx(0.01 + 0.3), "small": pytest.approx(0.01)}
    assert budget.report().spent == spent
    assert [sorted(each.spent) for each in told.reports] == [["middle"], ["large on gpu", "middle"], sorted(spent)]


async def test_a_call_that_is_not_paid_for_is_not_made_and_the_cheapest_of_this_machine_always_is() -> None:
    engine = Engine()
    node, budget, _, found = paying(engine, "0.001 EUR", Told(), per_processor_s=1.0, per_call=1.0)
    for model in ("middle", "large on gpu"):
        with pytest.raises(BudgetSpent, match=f"{model}: 0.001 EUR a day of node type"):
            await node.infer(model, pictures(1), NOW)
    assert engine.asked == []
    await node.infer("small", pictures(4), NOW)
    assert budget.left == 0.0
    assert found.paid["type"](0.0) == {"large on gpu": 0.0, "middle": 0.0, "small": float("inf")}


async def test_a_cut_network_is_paid_as_the_one_that_it_is() -> None:
    node, budget, _, _ = paying(engine := Engine(), "86400 EUR", Told(), per_processor_s=1.0)
    name = node.add_cuts("middle", ["cut"])
    engine.costs_s[name] = 0.05
    await node.infer(name, pictures(2), NOW)
    assert await node.load(name) == engine.opening_s
    assert budget.report().spent == {"middle": pytest.approx(0.1 + engine.opening_s)}


async def test_a_call_that_fails_costs_what_it_sent_and_no_more() -> None:
    node, budget, _, _ = paying(engine := Engine(), "86400 EUR", Told(), per_processor_s=1.0, per_call=1.0)
    engine.fault = ModelError("broken")
    with pytest.raises(ModelError, match="broken"):
        await node.infer("middle", pictures(2), NOW)
    assert budget.report().spent == {}
    assert budget.left == 86_400.0


async def test_measured_energy_counts_before_watts_and_watts_before_cards() -> None:
    engine = Engine()
    engine.change_card("middle", joules=3.6)
    meters: list[Any] = [lambda: 36.0, None, None]
    for meter, watts, joules in zip(meters, (7.2, 7.2, None), (3.6, 0.72, 3.6), strict=True):
        node, budget, _, _ = paying(engine, "100 kWh", Told(), meter, **({} if watts is None else {"watts": watts}))
        await node.infer("middle", pictures(1), NOW)
        assert budget.report().spent == {"middle": pytest.approx(joules / 3600)}


def drawing(models: list[str], calls: float, engine: Engine) -> tuple[Spending, DayBudget, Clock]:
    """A node whose models are on a backend with a budget of calls."""
    clock = Clock()
    terms = BudgetTerms("backend gpu", Amount(calls, "calls"), Prices("calls"), DayRule())
    budget = DayBudget(terms, MemoryLedger(), clock.now)
    found = Spending({"backend gpu": budget}, ["gpu", "other"], clock)
    node = compiled(query(DETECT, TRACK, TYPE | {"model": models}), catalogue([])).dag.nodes[-1]
    found.add(node, engine, None)
    return found, budget, clock


async def test_a_node_draws_on_the_budget_of_a_backend_that_its_models_are_on() -> None:
    found, budget, _ = drawing(["large on gpu", "small"], 200_000, Engine())
    node = found.engines["type"]
    await node.infer("large on gpu", pictures(2), NOW)
    await node.infer("small", pictures(2), NOW)
    assert budget.report().spent == {"large on gpu": 1.0}
    assert drawing(["middle", "small"], 86_400, Engine())[0].engines == {}


async def test_a_model_that_may_be_anywhere_goes_where_it_is_paid_for() -> None:
    engine = Engine()
    found, _, clock = drawing(["large on auto", "small"], 2, engine)
    node = found.engines["type"]
    engine.place = "large on other"
    assert node.place_of("large on auto") == engine.place
    assert [engine.prices(name) for name in ("large", "large on other", "large on gpu")] == [0, 0, inf]
    assert found.paid["type"](clock.now_s)["large on auto"] == inf


async def test_the_price_of_a_place_is_the_part_of_the_budgets_of_a_day_that_a_request_takes() -> None:
    engine, clock = Engine(), Clock()
    engine.costs_s |= {"large": 0.4, "large on gpu": 0.04}
    calls = BudgetTerms("backend gpu", Amount(200_000, "calls"), Prices("calls"), DayRule())
    euros = BudgetTerms("node type", Amount(8000, "EUR"), Prices("EUR", per_processor_s=0.01), DayRule())
    budgets = {each.holder: DayBudget(each, MemoryLedger(), clock.now) for each in (calls, euros)}
    found = Spending(budgets, ["gpu"], clock)
    found.add(
        compiled(query(DETECT, TRACK, TYPE | {"model": ["large on auto"]}), catalogue([])).dag.nodes[-1], engine, None
    )
    found.engines["type"].place_of("large on auto")
    assert engine.prices("large") == pytest.approx(0.4 * 0.01 / 8000)
    assert engine.prices("large on gpu") == pytest.approx(1 / 200_000 + 0.04 * 0.01 / 8000)


async def test_what_the_planner_measures_is_paid_from_the_day_alone() -> None:
    found, budget, _ = drawing(["large on gpu", "small"], 2, engine := Engine())
    nodes = compiled(query(DETECT, TRACK, TYPE | {"model": ["large on gpu", "small"]}), catalogue([])).dag.nodes
    measures: Any = found.measuring(nodes, engine)  # type: ignore[arg-type]
    for _ in range(2):
        await measures.infer("large on gpu", pictures(1), NOW)
    with pytest.raises(BudgetSpent, match="is spent until"):
        await measures.infer("large on gpu", pictures(1), NOW)
    await measures.infer("small", pictures(1), NOW)
    assert budget.report().spent == {"large on gpu": 2.0}
    assert measures.card("small") == engine.card("small")


def test_use_of_the_wire_is_counted_where_somebody_asks() -> None:
    called(5)
    with counting() as outer:
        called(10, 20)
        with counting() as inner:
            called(1)
    assert (outer.calls, outer.bytes, inner.calls, inner.bytes) == (1, 30, 1, 1)


def test_energy_that_nothing_tells_is_refused_with_what_to_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    monkeypatch.setattr("pipelines.assembly.spending.processor_energy", lambda: None)
    node = TYPE | {"model": ["middle", "small"], "budget": {"per_day": "20 Wh"}}
    wanted = compiled(query(DETECT, TRACK, node), catalogue([]))
    with pytest.raises(BadInput, match=r"energy of middle, small: say price\.watts"):
        spending(wanted, Environment.of(wanted, Engine(), clock=Clock()))
    node |= {"budget": {"per_day": "20 Wh", "price": {"watts": 5}}}
    wanted = compiled(query(DETECT, TRACK, node), catalogue([]))
    spending(wanted, Environment.of(wanted, Engine(), clock=Clock())).close()
    ledger = FileLedger(tmp_path / "budgets" / "test.json")
    assert ledger.settle(Settlement("node type (Wh)", MIDNIGHT, 0.0, 1.0, {}, {})).taken == 0.0
