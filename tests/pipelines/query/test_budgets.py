"""The key ``budget`` of nodes and backends."""

from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from pipelines.query.budgets import BackendBudget, NodeBudget
from serving.budgets.prices import Prices
from serving.budgets.terms import BudgetTerms
from tests.pipelines.queries import DETECT, TRACK, TYPE, query


def terms(given: BackendBudget) -> BudgetTerms:
    return given.terms("node vehicle", given.prices)


@pytest.mark.parametrize(
    ("given", "prices"),
    [
        ({"per_day": "2 GiB"}, Prices("B")),
        ({"per_day": "500 calls"}, Prices("calls")),
        ({"per_day": "20 Wh"}, Prices("Wh")),
        ({"per_day": "20 Wh", "price": {"watts": 7.5}}, Prices("Wh", watts=7.5)),
        ({"per_day": "20 Wh", "price": {"per_gib": "360 J"}}, Prices("Wh", per_gib=0.1)),
        (
            {"per_day": "5 EUR", "price": {"per_call": "0.002 EUR", "per_gib": "0.1 EUR"}},
            Prices("EUR", per_call=0.002, per_gib=0.1),
        ),
        ({"per_day": "5 EUR", "price": {"per_kwh": "0.3 EUR", "watts": 20}}, Prices("EUR", per_kwh=0.3, watts=20)),
        ({"per_day": "5 EUR", "price": {"per_processor_s": "0.001 EUR"}}, Prices("EUR", per_processor_s=0.001)),
    ],
)
def test_a_node_s_budget_is_an_amount_and_prices_in_its_unit(given: dict[str, Any], prices: Prices) -> None:
    found = NodeBudget(**given)
    assert terms(found).prices == prices
    assert str(terms(found)) == f"{given['per_day']} a day of node vehicle"


def test_a_day_ends_at_midnight_of_utc_or_as_is_said() -> None:
    assert terms(BackendBudget(per_day="2 GiB")).day.ends == time(0)
    berlin = terms(BackendBudget(per_day="2 GiB", ends="18:30", zone="Europe/Berlin")).day
    assert berlin.zone == ZoneInfo("Europe/Berlin")
    assert berlin.end(datetime(2026, 6, 1, 12, tzinfo=UTC)).astimezone(UTC) == datetime(2026, 6, 1, 16, 30, tzinfo=UTC)


BAD: list[tuple[type[BackendBudget], dict[str, Any], str]] = [
    (NodeBudget, {}, "per_day"),
    (NodeBudget, {"per_day": 5}, "give an amount with its unit"),
    (NodeBudget, {"per_day": "5 GB"}, "give an amount such as 5 EUR"),
    (NodeBudget, {"per_day": "0 EUR", "price": {"per_call": "1 EUR"}}, "give more than nothing"),
    (NodeBudget, {"per_day": "5 EUR"}, "give one of per_call, per_gib, per_processor_s, per_kwh"),
    (NodeBudget, {"per_day": "5 EUR", "price": {"watts": 5}}, "give one of per_call"),
    (NodeBudget, {"per_day": "5 EUR", "price": {"per_call": "0.1 USD"}}, "price.per_call is 0.1 USD: give it in EUR"),
    (NodeBudget, {"per_day": "5 EUR", "price": {"per_call": "1 EUR", "watts": 5}}, "says nothing without per_kwh"),
    (NodeBudget, {"per_day": "2 GiB", "price": {"per_call": "1 KiB"}}, "bytes are counted as they are"),
    (NodeBudget, {"per_day": "20 Wh", "price": {"per_kwh": "1 kWh"}}, "remove per_kwh"),
    (NodeBudget, {"per_day": "20 Wh", "price": {"watts": 0}}, "greater than 0"),
    (NodeBudget, {"per_day": "20 Wh", "per_hour": "1 Wh"}, "per_hour"),
    (NodeBudget, {"per_day": "20 Wh", "ends": "24:00"}, "give a time of day in quotes"),
    (NodeBudget, {"per_day": "20 Wh", "ends": 1110}, "give a time of day in quotes"),
    (NodeBudget, {"per_day": "20 Wh", "zone": "Mars/Olympus"}, "give a time zone"),
    (NodeBudget, {"per_day": "20 Wh", "zone": "../../etc/passwd"}, "give a time zone"),
    (BackendBudget, {"per_day": "5 EUR"}, "give one of per_call, per_gib"),
    (BackendBudget, {"per_day": "20 Wh"}, "nothing measures the energy of another machine here: give per_call"),
    (BackendBudget, {"per_day": "20 Wh", "price": {"watts": 5}}, "watts"),
]


@pytest.mark.parametrize(("kind", "given", "said"), BAD)
def test_a_budget_that_cannot_be_counted_is_refused_with_what_to_do(
    kind: type[BackendBudget], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError) as error:
        kind(**given)
    assert said in str(error.value)


def test_a_node_of_a_query_has_one_and_what_runs_no_network_has_none() -> None:
    limit = {"per_day": "500 calls"}
    assert query(DETECT, TRACK, TYPE | {"budget": limit}).has_budgets
    assert not query(DETECT, TRACK, TYPE).has_budgets
    gpu = {"url": "grpc://gpu-1:8001"}
    assert query(DETECT, TRACK, TYPE, backends={"gpu": gpu | {"budget": limit}}).has_budgets
    assert not query(DETECT, TRACK, TYPE, backends={"gpu": gpu}).has_budgets
    with pytest.raises(ValidationError, match="motion is no network"):
        query(DETECT | {"budget": limit}, TRACK, TYPE)
    with pytest.raises(ValidationError, match="budget"):
        query(DETECT, TRACK | {"budget": limit}, TYPE)
