"""Amounts and prices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budgets.prices import Amount, CallWork, Prices


@pytest.mark.parametrize(
    ("text", "value", "unit", "kind"),
    [
        ("5 EUR", 5.0, "EUR", "money"),
        ("0.25USD", 0.25, "USD", "money"),
        ("20 Wh", 20.0, "Wh", "energy"),
        ("1.5 kWh", 1500.0, "Wh", "energy"),
        ("7200 J", 2.0, "Wh", "energy"),
        ("2 GiB", 2.0**31, "B", "bytes"),
        ("1 TiB", 2.0**40, "B", "bytes"),
    ],
)
def test_amounts_are_read_in_one_unit_of_their_kind(text: str, value: float, unit: str, kind: str) -> None:
    found = Amount.parse(text)
    assert (found.value, found.unit, found.kind) == (pytest.approx(value), unit, kind)


@pytest.mark.parametrize(
    "text",
    ["", "5", "EUR", "5 eur", "-5 EUR", "5 EURO", "5 GB", "5  EUR", "1e3 EUR", "٥ EUR", "5 EUR\n", "nan EUR", "5."],
)
def test_other_spellings_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give an amount such as"):
        Amount.parse(text)


@given(st.floats(0, 1e9), st.sampled_from(["EUR", "Wh", "B"]))
def test_an_amount_is_said_in_a_few_characters(value: float, unit: str) -> None:
    assert len(str(Amount(value, unit))) <= 16


WORK = CallWork(calls=2, processor_s=3.0, sent_bytes=2.0**30)


@pytest.mark.parametrize(
    ("prices", "work", "cost"),
    [
        (Prices("EUR", per_call=0.5, per_processor_s=0.1, per_gib=0.25), WORK, 1.0 + 0.3 + 0.25),
        (Prices("EUR", per_kwh=0.4, watts=20.0), WORK, 0.4 * 60 / 3600 / 1000),
        (Prices("EUR", per_kwh=0.4, watts=20.0), WORK._replace(joules=3.6e6), 0.4),
        (Prices("Wh", watts=20.0, per_call=0.01, per_gib=1.0), WORK, 60 / 3600 + 0.02 + 1.0),
        (Prices("Wh"), WORK._replace(joules=7200.0), 2.0),
        (Prices("B"), WORK, 2.0**30),
        (Prices("EUR"), WORK, 0.0),
    ],
)
def test_work_costs_what_its_parts_cost(prices: Prices, work: CallWork, cost: float) -> None:
    assert prices.cost(work) == pytest.approx(cost)


def test_energy_is_needed_where_a_cost_depends_on_it() -> None:
    assert [Prices("Wh").needs_energy, Prices("EUR", per_kwh=0.3).needs_energy] == [True, True]
    assert [Prices("EUR", per_call=1).needs_energy, Prices("B").needs_energy] == [False, False]
