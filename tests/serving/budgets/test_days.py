"""Days that end at an hour in a zone."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budgets.terms import DayRule

BERLIN = ZoneInfo("Europe/Berlin")
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))
RULES = st.builds(DayRule, st.sampled_from([UTC, BERLIN, ZoneInfo("America/New_York")]), st.times())


@pytest.mark.parametrize(
    ("now", "hours_left"),
    [
        (datetime(2026, 3, 28, 23, tzinfo=UTC), 23.0),  # the clocks go forward on this day
        (datetime(2026, 10, 24, 22, tzinfo=UTC), 25.0),  # and back on this
        (datetime(2026, 6, 1, 22, tzinfo=UTC), 24.0),
        (datetime(2026, 6, 1, 21, 30, tzinfo=UTC), 0.5),
    ],
)
def test_a_day_ends_at_midnight_of_its_zone(now: datetime, hours_left: float) -> None:
    assert DayRule(BERLIN).left_s(now) == 3600 * hours_left


def test_a_day_may_end_at_another_hour() -> None:
    rule = DayRule(UTC, time(18, 30))
    assert rule.begin(datetime(2026, 6, 2, 18, 29, tzinfo=UTC)) == datetime(2026, 6, 1, 18, 30, tzinfo=UTC)
    assert rule.begin(datetime(2026, 6, 2, 18, 30, tzinfo=UTC)) == datetime(2026, 6, 2, 18, 30, tzinfo=UTC)


@given(RULES, MOMENTS)
def test_every_moment_lies_in_its_day_and_days_follow_each_other(rule: DayRule, now: datetime) -> None:
    begin, end = rule.begin(now).astimezone(UTC), rule.end(now).astimezone(UTC)
    assert begin <= now < end
    assert timedelta(hours=22) <= end - begin <= timedelta(hours=26)
    assert rule.begin(end).astimezone(UTC) == end
