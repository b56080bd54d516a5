"""A budget as the query says it, its day, what is told of it, and who keeps it. Pure: the time is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Annotated, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from serving.budgets.frequency import KeptFrequency
from serving.budgets.prices import Amount, Prices

MOST_NAMED = 100
"""Models with spending of their own; that of further ones is told together."""
FURTHER = "further models"
SpentOn = Annotated[dict[Annotated[str, Meta(max_length=300)], float], Meta(max_length=MOST_NAMED + 1)]


class BudgetStanding(NamedTuple):
    """A day's budget as a ledger knows it, and what it has granted."""

    granted: float
    taken: float
    """By all processes; the part that they have not spent is given back when they end."""
    spent: Mapping[str, float]
    """On each model."""
    asked: Mapping[str, KeptFrequency]
    """How often each node asks, as it was told last."""


class Settlement(NamedTuple):
    """The wish of one process for a part of a day's budget, and its spending since the last one."""

    holder: str
    day: datetime
    change: float
    """So much more of it; below 0: given back."""
    most: float
    """The day's budget."""
    spent: Mapping[str, float]
    """On each model, since the last time."""
    asked: Mapping[str, KeptFrequency]
    """How often its nodes ask."""


class DayLedger(Protocol):
    """Knows what is spent of the day's budgets by all processes that share them, whatever becomes of one."""

    def settle(self, wanted: Settlement) -> BudgetStanding:
        """Take so much more of a day's budget, or give it back; what is taken is never brought above ``most``."""


@dataclass(frozen=True, slots=True)
class BudgetTerms:
    """A budget as the query says it."""

    holder: str
    """``backend gpu`` or ``node vehicle``."""
    per_day: Amount
    prices: Prices
    day: DayRule

    @property
    def key(self) -> str:
        """Names it in a ledger: what was spent in one unit is nothing in another."""
        return f"{self.holder} ({self.per_day.unit})"

    def __str__(self) -> str:
        return f"{self.per_day} a day of {self.holder}"


class BudgetReport(msgspec.Struct, frozen=True):
    """The spending of a budget, in its unit; as text ``budget of node vehicle: 3.2 EUR of 5 EUR spent today …``."""

    holder: Annotated[str, Meta(max_length=120)]
    unit: Annotated[str, Meta(max_length=5)]
    """``Wh``, ``B``, ``calls``, or a currency."""
    per_day: float
    spent: SpentOn
    """By this process, on each model."""
    spent_today: SpentOn
    """On this day, by all processes that share the budget."""
    left: float
    """Today."""
    until: Annotated[str, Meta(max_length=40)]
    """When the next day begins, ISO 8601."""

    def __str__(self) -> str:
        most = sorted(self.spent_today.items(), key=lambda item: -item[1])
        on = f" ({', '.join(f'{model} {Amount(cost, self.unit)}' for model, cost in most)})" if most else ""
        return (
            f"budget of {self.holder}: {Amount(sum(self.spent_today.values()), self.unit)} of "
            f"{Amount(self.per_day, self.unit)} spent today{on}; "
            f"{Amount(self.left, self.unit)} left until {self.until[:16].replace('T', ' ')}"
        )


@dataclass(frozen=True, slots=True)
class DayRule:
    """Days that end at the same time on the clock of a zone; one with a change of the clocks is an hour longer or
    shorter.

    >>> from zoneinfo import ZoneInfo
    >>> rule = DayRule(ZoneInfo("Europe/Berlin"))
    >>> now = datetime(2026, 3, 29, 12, tzinfo=UTC)
    >>> rule.begin(now).isoformat(), rule.left_s(now) / 3600
    ('2026-03-29T00:00:00+01:00', 10.0)
    """

    zone: tzinfo = UTC
    ends: time = time(0)
    """The time of day at which one ends and the next begins."""

    def begin(self, now: datetime) -> datetime:
        """The begin of the day that holds ``now``, in the zone."""
        here = now.astimezone(self.zone)
        at = self._at(here, 0)
        return self._at(here, -1) if _instant(at) > _instant(now) else at

    def end(self, now: datetime) -> datetime:
        """Its end, which is the begin of the next."""
        return self._at(self.begin(now), 1)

    def left_s(self, now: datetime) -> float:
        """Seconds until then, above 0."""
        return (_instant(self.end(now)) - _instant(now)).total_seconds()

    def _at(self, day: datetime, days_on: int) -> datetime:
        return datetime.combine(day.date() + timedelta(days=days_on), self.ends, self.zone)


def _instant(moment: datetime) -> datetime:
    """Two moments of one zone are else compared by what their clocks show."""
    return moment.astimezone(UTC)
