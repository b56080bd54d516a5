"""Who crossed and who came in, counted from events."""

from __future__ import annotations

from typing import Any

from operators.publish.zone_events import Tracked, event
from operators.zones.visits import MOST_LABELS, EventTotals, LineReport, ZoneReport
from tests.operators.publish.messages import result, thing


def counted(*happened: tuple[str, str, dict[str, Any]]) -> EventTotals:
    counts = EventTotals()
    for kind, label, more in happened:
        track = Tracked(thing(7, label), 0.0, 0.0, 0.0, 0.0)
        counts.see(event(kind, result(0), 7, track, **more))
    return counts


def test_crossings_are_counted_by_line_direction_and_label() -> None:
    right, left = {"line": "gate", "direction": "left_to_right"}, {"line": "gate", "direction": "right_to_left"}
    counts = counted(("cross", "car", right), ("cross", "bus", right), ("cross", "car", right), ("cross", "car", left))
    assert counts.lines() == [LineReport("yard", "gate", {"car": 2, "bus": 1}, {"car": 1})]


def test_visits_are_counted_by_zone_and_label_with_the_time_they_took() -> None:
    comes = ("enter", "car", {"zone": "lot"})
    counts = counted(comes, comes, *[("leave", "car", {"zone": "lot", "dwell_s": s}) for s in (2.0, 7.0)])
    assert counts.zones() == [ZoneReport("yard", "lot", {"car": 2}, 4.5, 7.0)]


def test_other_events_count_nothing_and_labels_are_bounded() -> None:
    assert counted(("new", "car", {}), ("end", "car", {})).zones() == []
    right = {"line": "gate", "direction": "left_to_right"}
    (line,) = counted(*[("cross", f"kind {n}", right) for n in range(MOST_LABELS + 9)]).lines()
    assert (len(line.left_to_right), line.left_to_right["other"]) == (MOST_LABELS + 1, 9)
