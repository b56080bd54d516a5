"""What the picture of a timeline shows, before it is drawn."""

from __future__ import annotations

import math

import pytest

from pipelines.report.plots.timeline import COLUMNS, ROWS, agreement_bounds, answer_shares, class_rows, clock
from specialization.timeline import Timeline
from tests.pipelines.report.timeline_story import timeline


def test_shares_are_of_all_answers_and_unknown_where_there_were_none() -> None:
    found = answer_shares(timeline().state)
    values = dict(zip(found.edges_s, zip(*found.of.values(), strict=True), strict=False))
    assert len(found.edges_s) == len(found.of["head"]) + 1
    assert values[5.0] == (1, 0, 0, 0)
    assert values[20.0] == (0, 0.1, 0.9, 0)
    assert values[60.0] == (0, 0, 0.75, 0.25)
    assert all(math.isnan(value) for value in values[30.0])


@pytest.mark.parametrize("seconds", [1, COLUMNS, COLUMNS + 1, 100_000])
def test_a_long_stream_has_as_many_columns_as_can_be_seen(seconds: int) -> None:
    told = Timeline()
    for at_s in range(0, seconds, max(1, seconds // 1000)):
        told.counted(at_s, oracle=1)
    found = answer_shares(told.state)
    assert COLUMNS / 2 < len(found.of["oracle"]) <= COLUMNS or seconds == 1
    assert set(found.of["oracle"]) == {1.0}
    assert found.edges_s[-1] > told.state.now_s


def test_of_no_answers_nothing_is_known() -> None:
    (share,) = answer_shares(Timeline().state).of["head"]
    assert math.isnan(share)


def test_rows_are_in_the_order_of_their_first_time_and_the_shortest_left_out() -> None:
    assert class_rows(timeline().state.spans) == {
        "car": [(10, 30), (50, 10)],
        "van": [(10, 30), (50, 10)],
        "bus": [(50, 10)],
    }
    told = Timeline()
    for number in range(2 * ROWS):
        told.entered(number**2, "specialised", [f"c{number}"], window=30)
    told.counted(4 * ROWS**2, oracle=1)
    assert list(class_rows(told.state.spans)) == [f"c{number}" for number in range(ROWS, 2 * ROWS)]


def test_the_agreement_stands_where_it_was_found() -> None:
    found = agreement_bounds(timeline().state.slices)
    assert (found.at_s, found.low, found.high) == ([20, 60], [0.8, 0.92], [1.0, 0.99])


@pytest.mark.parametrize(("at_s", "text"), [(0, "0:00"), (65.2, "1:05"), (7385, "2:03:05")])
def test_times_are_told_as_on_a_clock(at_s: float, text: str) -> None:
    assert clock(at_s) == text
