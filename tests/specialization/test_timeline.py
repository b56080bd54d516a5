"""The history of specialization, in spans and figures: exact, and bounded however long it lasts."""

from __future__ import annotations

import msgspec

from specialization.timeline import MOST_SPANS, Timeline
from specialization.timeline_state import AnswerCounts, TimelineState
from specialization.weg.state import PhaseName


def told() -> Timeline:
    timeline = Timeline()
    timeline.entered(0, "initialising")
    timeline.counted(1, oracle=30)
    timeline.entered(2, "selecting", window=30)
    timeline.counted(3, oracle=10)
    timeline.entered(4, "specialised", ["car", "bus"], window=40)
    timeline.counted(5, head=40, fallback=10, audits=2)
    timeline.entered(6, "specialised", ["car", "bus", "van", "truck"], window=60)
    timeline.counted(7, head=10, reused=5)
    timeline.entered(8, "initialising")
    timeline.counted(9, oracle=5)
    return timeline


def test_the_columns_of_table_5_4() -> None:
    found = told().statistics()
    assert found.counts == AnswerCounts(oracle=45, head=50, fallback=10, reused=5, audits=2)
    assert (found.special_rate, found.cascade_rate) == (60 / 105, 10 / 60)
    assert (found.transitions, found.mean_dominant, found.mean_window) == (1, 3.0, 50.0)


def test_of_nothing_nothing_is_said() -> None:
    found = Timeline().statistics()
    assert (found.special_rate, found.cascade_rate, found.mean_dominant) == (0.0, None, None)


def test_spans_meet_and_the_last_goes_on() -> None:
    spans = told().state.spans
    assert [(span.from_s, span.to_s, span.phase) for span in spans] == [
        (0, 2, "initialising"),
        (2, 4, "selecting"),
        (4, 6, "specialised"),
        (6, 8, "specialised"),
        (8, 9, "initialising"),
    ]
    assert spans[2].classes == ("car", "bus")


def test_the_same_again_is_no_change_and_what_lasts_no_time_is_not_seen() -> None:
    timeline = Timeline()
    timeline.entered(0, "initialising")
    timeline.entered(3, "initialising")
    timeline.entered(5, "specialised", ["car"], window=30)
    timeline.entered(5, "initialising")
    timeline.counted(6, oracle=1)
    assert [(span.from_s, span.to_s, span.phase) for span in timeline.state.spans] == [(0, 6, "initialising")]
    assert timeline.statistics().transitions == 1


def test_a_source_started_again_goes_on_from_where_it_was_and_what_comes_late_is_counted_now() -> None:
    timeline = Timeline()
    timeline.counted(100, oracle=1)
    timeline.counted(95, audits=1)
    assert timeline.state.now_s == 100
    timeline.counted(0, oracle=1)
    assert timeline.state.now_s == 100
    timeline.counted(7, oracle=1)
    assert timeline.state.now_s == 107
    assert timeline.state.total.oracle == 3


def test_it_goes_on_from_its_state() -> None:
    timeline = told()
    data = msgspec.json.encode(timeline.state)
    again = Timeline(msgspec.json.decode(data, type=TimelineState))
    for each in (timeline, again):
        each.entered(10, "specialised", ["car"], window=30)
        each.counted(11, head=3)
    assert again.state == timeline.state


def test_memory_is_bounded_and_what_is_forgotten_is_counted() -> None:
    timeline = Timeline()
    phases: list[PhaseName] = ["specialised", "selecting"]
    for number in range(3 * MOST_SPANS):
        timeline.entered(number, phases[number % 2], ["car"], window=40)
        timeline.counted(number, oracle=1)
    state = timeline.state
    assert (len(state.spans), state.forgotten) == (MOST_SPANS, 2 * MOST_SPANS)
    assert state.total.oracle == 3 * MOST_SPANS
    found = timeline.statistics()
    assert (found.transitions, found.mean_window) == (1.5 * MOST_SPANS, 40.0)
