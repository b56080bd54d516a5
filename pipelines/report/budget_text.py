"""A budget of a day in words and figures: what was spent on what, and what is left. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from serving.budgets.terms import BudgetReport


MOST_MODELS = 101
SpentOn = Annotated[dict[Annotated[str, Meta(max_length=300)], float], Meta(max_length=MOST_MODELS)]


class BudgetFigures(msgspec.Struct, frozen=True):
    """The spending of one budget, in its unit."""

    holder: Annotated[str, Meta(max_length=120)]
    """``node vehicle`` or ``backend gpu``."""
    unit: Annotated[str, Meta(max_length=5)]
    """``Wh``, ``B``, ``calls``, or a currency."""
    per_day: float
    spent: SpentOn
    """By this run, on each model."""
    spent_today: SpentOn
    """On this day, by all that share the budget."""
    left: float
    until: Annotated[str, Meta(max_length=40)]
    """The end of the day, ISO 8601."""

    @classmethod
    def of(cls, found: BudgetReport) -> BudgetFigures:
        spent, today = _rounded(found.spent), _rounded(found.spent_today)
        left, until = float(f"{found.left:.6g}"), found.until.isoformat()
        return cls(found.holder, found.unit, found.per_day, spent, today, left, until)


def budget_line(found: BudgetFigures) -> str:
    """One line, such as ``budget of node vehicle: 3.2 EUR of 5 EUR spent today, 1.8 EUR left until …``."""
    from serving.budgets.amounts import Amount  # what most runs do without

    def amount(value: float) -> str:
        return str(Amount(value, found.unit))

    today = amount(sum(found.spent_today.values()))
    most = sorted(found.spent_today.items(), key=lambda item: -item[1])
    on = f" ({', '.join(f'{model} {amount(cost)}' for model, cost in most)})" if most else ""
    until = found.until[:16].replace("T", " ")
    return (
        f"budget of {found.holder}: {today} of {amount(found.per_day)} spent today{on}; "
        f"{amount(found.left)} left until {until}"
    )


def _rounded(spent: Mapping[str, float]) -> dict[str, float]:
    return {model: float(f"{cost:.6g}") for model, cost in spent.items()}
