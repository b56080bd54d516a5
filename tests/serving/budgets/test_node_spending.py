"""What a node of a query spends at its own budget and at those of backends."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from serving.budgets.day_budget import DayBudget
from serving.budgets.node_spending import NodeSpending
from serving.budgets.prices import Amount, CallWork, Prices
from serving.budgets.terms import BudgetTerms, DayRule
from serving.errors import BudgetSpent
from tests.serving.budgets.memory_ledger import MemoryLedger

MIDNIGHT = datetime(2026, 6, 1, tzinfo=UTC)
MODELS: Mapping[str, str | None] = {"large on gpu": "gpu", "large": None, "small": None}
SECONDS = {"large": 0.1, "small": 0.01}


def work(model: str, pictures: int) -> CallWork:
    if model in SECONDS:
        return CallWork(processor_s=SECONDS[model] * pictures)
    return CallWork(calls=1, sent_bytes=1000.0 * pictures, processor_s=0.001)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def now(self) -> datetime:
        return MIDNIGHT + timedelta(seconds=self.now_s)


def budget(holder: str, per_day: str, clock: Clock, **prices: float) -> DayBudget:
    amount = Amount.parse(per_day)
    terms = BudgetTerms(holder, amount, Prices(amount.unit, **prices), DayRule())
    return DayBudget(terms, MemoryLedger(), clock.now)


def spending(*budgets: DayBudget, models: Mapping[str, str | None] = MODELS) -> NodeSpending:
    return NodeSpending("vehicle", models, {each.terms.holder: each for each in budgets}, work)


def test_without_budgets_all_is_paid() -> None:
    assert spending().paid(0.0) == {"large on gpu": inf, "large": inf, "small": inf}
    assert spending().reserve("large on gpu", 3, 0.0) == []


def test_a_backend_s_budget_bounds_its_models_and_no_others() -> None:
    gpu = budget("backend gpu", "100000 calls", clock := Clock())
    node = spending(gpu)
    assert node.paid(0.0) == {"large on gpu": inf, "large": inf, "small": inf}, "a call carries any number of pictures"
    node.pay("large on gpu", node.reserve("large on gpu", 5, 0.0), CallWork(calls=1, processor_s=9.0))
    assert gpu.report().spent == {"large on gpu": 1.0}
    assert node.paid(clock.now_s)["large on gpu"] == 0.0, "the share of two frames is not there yet"


def test_pictures_that_are_paid_follow_from_what_may_be_spent() -> None:
    bytes_of_a_day = budget("backend gpu", "100000 KiB", Clock())
    node = spending(bytes_of_a_day)
    assert node.paid(0.0)["large on gpu"] == 1


def test_a_node_s_own_budget_pays_for_work_here_and_its_cheapest_model_is_never_refused() -> None:
    energy = budget("node vehicle", "0.001 Wh", Clock(), watts=20.0)
    node = spending(energy)
    assert node.cheapest() == "small"
    paid = node.paid(0.0)
    assert (paid["large"], paid["small"]) == (0.0, inf)
    with pytest.raises(BudgetSpent, match=r"0\.001 Wh a day of node vehicle"):
        node.reserve("large", 1, 0.0)
    for _ in range(100):
        node.pay("small", node.reserve("small", 1, 0.0), CallWork(processor_s=0.01))
    assert energy.left == 0.0
    assert energy.report().spent == {"small": pytest.approx(100 * 0.01 * 20 / 3600)}
    with pytest.raises(BudgetSpent, match="is spent until 2026-06-02 00:00 UTC"):
        node.reserve("large", 1, 0.0)


def test_a_model_elsewhere_alone_is_refused_once_the_day_is_spent() -> None:
    gpu = budget("backend gpu", "1 calls", Clock())
    node = spending(gpu, models={"large on gpu": "gpu"})
    assert node.cheapest() is None
    assert node.paid(0.0)["large on gpu"] == 0.0
    with pytest.raises(BudgetSpent):
        node.reserve("large on gpu", 1, 0.0)


def test_what_one_budget_refuses_is_given_back_to_the_other() -> None:
    own, gpu = budget("node vehicle", "1000 EUR", Clock(), per_call=0.001), budget("backend gpu", "0.5 calls", Clock())
    node = spending(own, gpu)
    for second in range(10):
        node.paid(float(second))
    with pytest.raises(BudgetSpent, match="backend gpu"):
        node.reserve("large on gpu", 1, 0.0)
    assert own.left == 1000.0


def test_two_nodes_share_the_budget_of_a_backend_and_do_not_exceed_it() -> None:
    gpu, clock, calls = budget("backend gpu", "1000 calls", clock := Clock()), clock, 0
    nodes = [NodeSpending(name, MODELS, {"backend gpu": gpu}, work) for name in ("vehicle", "face")]
    for second in range(0, 86_400, 10):
        clock.now_s = float(second)
        for node in nodes:
            model = next(model for model, most in node.paid(clock.now_s).items() if most >= 1)
            is_remote = model == "large on gpu"
            node.pay(model, node.reserve(model, 1, clock.now_s), CallWork(calls=is_remote))
            calls += is_remote
    assert 980 <= calls <= 1000
    assert gpu.report().spent == {"large on gpu": calls}
