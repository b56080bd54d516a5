"""The day of a budget: where it begins and ends, in a time zone and at an hour. Pure: the time is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo


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
