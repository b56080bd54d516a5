"""The keys of a query for its cost: ``budget``, of a node or a backend, for a day; and ``learning``.

Queries without one import nothing of ``serving.budgets``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from learning.budget import SHARE
from serving.common.explain import Strict

if TYPE_CHECKING:
    from serving.budgets.prices import Amount, Prices
    from serving.budgets.terms import BudgetTerms

_AMOUNT = WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)? ?([A-Z]{3}|J|Wh|kWh|KiB|MiB|GiB|TiB|calls)$"})


def _parsed(text: str) -> Amount:
    from serving.budgets.prices import Amount

    return Amount.parse(text)


def _amount(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"is {value!r}: give an amount with its unit, such as 5 EUR, 20 Wh or 2 GiB")
    _parsed(value)
    return value


def _zone(value: Any) -> str:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(value).key
    except (ValueError, TypeError, OSError, KeyError):
        raise ValueError(f"is {value!r}: give a time zone such as Europe/Berlin or UTC") from None


def _hour(value: Any) -> str:
    if not isinstance(value, str) or re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", value, re.ASCII) is None:
        raise ValueError(f'is {value!r}: give a time of day in quotes, such as "00:00" or "18:30"')
    return value


WrittenAmount = Annotated[str, BeforeValidator(_amount), _AMOUNT]
"""An amount with its unit, as it is written: ``5 EUR``."""


class BackendPrice(Strict):
    """The cost of asking a backend."""

    per_call: WrittenAmount | None = None
    """The price of one call, which may carry several pictures."""
    per_gib: WrittenAmount | None = None
    """The price of what goes over the wire, both ways."""


class NodePrice(BackendPrice):
    """The cost of a node's work here and elsewhere."""

    per_processor_s: WrittenAmount | None = None
    """The price of a processor second of this machine."""
    per_kwh: WrittenAmount | None = None
    """The price of this machine's energy."""
    watts: float | None = Field(default=None, gt=0, le=10_000)
    """The power of a busy processor, where the machine does not tell. Default: as the cards of models say."""


class BackendBudget(Strict):
    """The most that may be spent at a backend in a day."""

    per_day: WrittenAmount
    """Money, energy, bytes over the wire or calls elsewhere: ``5 EUR``, ``20 Wh``, ``2 GiB``, ``500 calls``."""
    ends: Annotated[str, BeforeValidator(_hour)] = "00:00"
    """The time of day at which a day ends and the next begins."""
    zone: Annotated[str, BeforeValidator(_zone)] = "UTC"
    """The time zone of ``ends``."""
    price: BackendPrice = BackendPrice.model_construct()
    """The cost of calls, in the unit of ``per_day``; bytes and calls need no price."""

    @property
    def amount(self) -> Amount:
        return _parsed(self.per_day)

    def terms(self, holder: str, prices: Prices) -> BudgetTerms:
        """The budget of ``backend NAME``, ``node NAME`` or ``endpoint NAME``, as ``DayBudget`` takes it."""
        from datetime import time
        from zoneinfo import ZoneInfo

        from serving.budgets.terms import BudgetTerms, DayRule

        return BudgetTerms(holder, self.amount, prices, DayRule(ZoneInfo(self.zone), time.fromisoformat(self.ends)))

    @model_validator(mode="after")
    def _is_priced(self) -> BackendBudget:
        amount, given = self.amount, amounts(self.price)
        if amount.value <= 0:
            raise ValueError(f"per_day is {self.per_day}: give more than nothing, or leave the budget out")
        for key, value in given.items():
            if value.unit != amount.unit:
                raise ValueError(f"price.{key} is {value}: give it in {amount.unit}, as per_day")
        if amount.kind in ("bytes", "calls") and given:
            raise ValueError(f"price: {amount.kind} are counted as they are: remove {next(iter(given))}")
        if amount.kind == "energy" and not given and not isinstance(self.price, NodePrice):
            raise ValueError("price is missing: nothing measures the energy of another machine here: give per_call")
        if amount.kind == "money" and not given:
            keys = [key for key in type(self.price).model_fields if key != "watts"]
            raise ValueError(f"price is missing: what does work cost? give one of {', '.join(keys)}")
        return self

    @property
    def prices(self) -> Prices:
        from serving.budgets.prices import Prices

        return Prices(self.amount.unit, **{key: value.value for key, value in amounts(self.price).items()})


class NodeBudget(BackendBudget):
    """The most that a node may spend in a day, wherever its models run."""

    price: NodePrice = NodePrice.model_construct()
    """The cost of its work, in the unit of ``per_day``; bytes and calls need none, nor energy that is measured."""

    @model_validator(mode="after")
    def _takes_one_way(self) -> NodeBudget:
        price, kind = self.price, self.amount.kind
        if kind == "energy" and (price.per_kwh is not None or price.per_processor_s is not None):
            raise ValueError("price: energy is measured, or follows from watts: remove per_kwh and per_processor_s")
        if price.watts is not None and kind != "energy" and price.per_kwh is None:
            raise ValueError("price.watts says nothing without per_kwh")
        return self

    @property
    def prices(self) -> Prices:
        from dataclasses import replace

        return replace(super().prices, watts=self.price.watts)


def amounts(price: BackendPrice) -> dict[str, Amount]:
    """The prices that are given, by their keys."""
    return {key: _parsed(value) for key, value in price if isinstance(value, str)}


_PERCENT = r"^\d{1,3}(\.\d{1,6})? ?%$"


def _share(value: Any) -> float:
    """Read ``5%``, or a number from 0 to 1.

    >>> _share("2.5%"), _share(0.05), _share(0)
    (0.025, 0.05, 0.0)
    """
    share = None
    if isinstance(value, str) and re.fullmatch(_PERCENT, value):
        share = float(value.rstrip(" %")) / 100
    elif isinstance(value, int | float) and not isinstance(value, bool):
        share = float(value)
    if share is None or not 0 <= share <= 1:
        raise ValueError(f"is {value!r}: give a share of the processor time, 0% to 100% or 0 to 1")
    return share


ShareOrPercent = Annotated[
    float,
    BeforeValidator(
        _share, json_schema_input_type=Annotated[float, Field(ge=0, le=1)] | Annotated[str, Field(pattern=_PERCENT)]
    ),
]
"""A share, also written as a percentage."""


class LearningSpec(Strict):
    """Limits of learning from streams."""

    budget: ShareOrPercent = SHARE
    """The most that it may cost: a share of the processor time that the process uses; 0: nothing is learnt."""
