"""What tracks do in zones and at lines becomes events, once, and counts at intervals."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from operators.publish.track_events import MOST_TRACKS, Lifecycle, Lifecycles, TrackMessage
from operators.publish.zone_events import MOST_LABELS, ZoneEvents, ZoneRules
from operators.wire.schema import BoundingBox, Counts, Event, LineCounts, Object, Result
from operators.zones.layout import Layout, Line, Zone
from operators.zones.presence import Hysteresis
from tests.operators.publish.messages import result, thing

YARD = Zone("yard", ((0, 0.5), (1, 0.5), (1, 1), (0, 1)), ("yard",))
GATE = Line("gate", ((0, 0.5), (1, 0.5)), ("yard",))
RULES = ZoneRules(Layout((YARD,), (GATE,)), Hysteresis(), count_every_s=10.0)


def standing(y: float, track: int = 7, label: str = "car") -> Object:
    """A tracked object whose lower side is at this height."""
    found = thing(track, label)
    box = BoundingBox(x_min=0.4, y_min=y - 0.2, x_max=0.5, y_max=y)
    return msgspec.structs.replace(found, detection=msgspec.structs.replace(found.detection, bounding_box=box))


def lifecycle(rules: ZoneRules = RULES, stream: str = "yard") -> Lifecycle:
    return Lifecycle(update_every_s=1e4, end_after_s=3, zone_events=ZoneEvents(rules, stream))


def told(lives: Lifecycle, *results: Result) -> list[TrackMessage]:
    return [each for one in results for each in lives.step(one)]


def events(messages: list[TrackMessage]) -> list[tuple[Any, ...]]:
    names = {"enter": "zone", "leave": "zone", "cross": "line"}
    return [
        (each.type, getattr(each, names[each.type]), each.seq)
        for each in messages
        if isinstance(each, Event) and each.type in names
    ]


def down(start: int = 0, track: int = 7) -> list[Result]:
    """Down over the line and into the zone in 20 frames, ten a second."""
    return [result(start + n, standing(0.3 + n * 0.02, track)) for n in range(20)]


def test_an_object_crosses_enters_and_leaves_with_its_track() -> None:
    lives = lifecycle()
    messages = told(lives, *down(), *[result(seq) for seq in range(20, 60)])
    assert [each.type for each in messages] == ["new", "enter", "cross", "leave", "end"]
    enter, cross, leave = (each for each in messages[1:4] if isinstance(each, Event))
    assert (enter.zone, enter.cause, enter.at_media_time_s, enter.media_time_s) == ("yard", "crossed", 1.0, 1.4)
    assert (cross.line, cross.direction, cross.label, cross.track_id) == ("gate", "left_to_right", "car", 7)
    assert cross.at_media_time_s == 1.2
    assert (leave.zone, leave.cause, leave.at_media_time_s, leave.dwell_s) == ("yard", "ended", 1.9, 0.9)
    assert leave.seq == 49, "when its track ended"


def test_a_track_that_was_lost_and_found_does_nothing_twice() -> None:
    lives = lifecycle()
    messages = told(lives, *down(), *[result(n) for n in range(20, 40)], result(40, standing(0.8)))
    assert events(messages) == [("enter", "yard", 14), ("cross", "gate", 16)]


def test_a_parked_object_that_another_worker_tracks_anew_does_not_enter_again() -> None:
    """After a worker's death its successor steps through the last results, and its tracker gives new numbers."""
    successor = lifecycle()
    told(successor, *[result(n, standing(0.8)) for n in range(50)])
    after = [result(n, *([standing(0.8, 9)] if n > 52 else [])) for n in range(50, 90)]
    messages = [*told(successor, *after), *successor.finish()]
    assert events(messages) == [("leave", "yard", 89)]
    (leave,) = (each for each in messages if isinstance(each, Event) and each.type == "leave")
    assert (leave.track_id, leave.entered_track_id, leave.dwell_s) == (9, 7, 8.9)


def test_a_new_run_ends_what_was_inside_in_the_old_one() -> None:
    lives = lifecycle()
    told(lives, *down())
    messages = lives.step(result(0, standing(0.8), run="r2"))
    assert [(each.type, each.run) for each in messages] == [
        ("leave", "r1"), ("end", "r1"), ("count", "r1"), ("new", "r2"),
    ]  # fmt: skip


def test_repeated_frames_and_dropped_ones_say_nothing() -> None:
    frames = down()
    dropped = [result(100 + n, outcome="dropped") for n in range(5)]
    messages = told(lifecycle(), *(each for one in frames for each in (one, one)), *dropped)
    assert events(messages) == [("enter", "yard", 14), ("cross", "gate", 16)]


def test_another_stream_and_objects_without_a_track_are_left_alone() -> None:
    assert events(told(lifecycle(stream="door"), *down())) == []
    untracked = [
        msgspec.structs.replace(each, objects=[msgspec.structs.replace(each.objects[0], track_id=None)])
        for each in down()
    ]
    assert told(lifecycle(), *untracked) == []


@pytest.mark.parametrize("odd_s", [9 * 365 * 86_400.0, -9 * 365 * 86_400.0])
def test_a_jump_of_the_media_time_is_no_time_inside(odd_s: float) -> None:
    lives = lifecycle()
    inside = [result(n, standing(0.8)) for n in range(20)]
    odd = result(20, standing(0.8), media_time_s=odd_s)
    messages = told(lives, *inside, odd, *[result(n, standing(0.8)) for n in range(21, 40)])
    assert events(messages) == [("enter", "yard", 4)]
    (leave,) = (each for each in lives.finish() if isinstance(each, Event) and each.type == "leave")
    assert isinstance(leave.dwell_s, float)
    assert leave.dwell_s < 4.0


def test_a_successor_that_steps_through_the_last_results_goes_on_without_repeating() -> None:
    frames = [*down(), *[result(n, standing(0.8)) for n in range(20, 60)]]
    uninterrupted = events(told(lifecycle(), *frames, *[result(n) for n in range(60, 100)]))
    successor = lifecycle()
    told(successor, *frames[10:])
    assert events(told(successor, *[result(n) for n in range(60, 100)])) == uninterrupted[2:]


def test_counts_say_who_is_inside_and_who_has_crossed_since_the_last_ones() -> None:
    lives, later = lifecycle(), [result(n, standing(0.8)) for n in range(20, 215)]
    told(lives, result(0))
    counts = [each for each in told(lives, *down(1), *later) if isinstance(each, Counts)]
    assert [(each.since_media_time_s, each.media_time_s, each.seq) for each in counts] == [(0, 10, 100), (10, 20, 200)]
    assert [each.zones for each in counts] == [{"yard": {"car": 1}}] * 2
    assert [each.lines["gate"] for each in counts] == [LineCounts(left_to_right={"car": 1}), LineCounts()]


def test_what_is_left_is_counted_at_the_end_and_nothing_without_zones() -> None:
    derive = Lifecycles(10, 3, RULES)
    for each in down():
        derive(each)
    assert [each.type for each in derive.finish()] == ["leave", "end", "count"]
    plain = Lifecycles(10, 3)
    for each in [*down(), *[result(n) for n in range(20, 2000, 10)]]:
        assert all(message.type in ("new", "end") for message in plain(each))
    assert plain.finish() == []


def test_a_stream_that_was_forgotten_begins_anew() -> None:
    derive = Lifecycles(10, 3, RULES)
    for each in down():
        derive(each)
    derive.forget("yard")
    assert [each.type for each in derive(result(20, standing(0.8)))] == ["new"]


def test_tracks_and_labels_are_bounded() -> None:
    rules = ZoneRules(RULES.layout, Hysteresis(settle_s=0.0), count_every_s=1e4)
    lives = lifecycle(rules)
    crowd = [standing(0.8, number, f"kind {number}") for number in range(MOST_TRACKS)]
    told(lives, result(0, *crowd))
    messages = lives.step(result(1, *[standing(0.8, 10**6 + n) for n in range(10)]))
    assert [each.type for each in messages[-2:]] == ["leave", "end"]
    assert sum(each.type == "end" for each in messages) == 10


def test_labels_beyond_the_bound_count_together() -> None:
    rules = ZoneRules(RULES.layout, Hysteresis(settle_s=0.0, margin=0.0), count_every_s=0.1)
    lives, crowd = lifecycle(rules), range(MOST_LABELS + 50)
    told(lives, result(0, *[standing(0.3, n, f"kind {n}") for n in crowd]))
    (counts,) = (
        each
        for each in lives.step(result(1, *[standing(0.8, n, f"kind {n}") for n in crowd]))
        if isinstance(each, Counts)
    )
    for counted in (counts.zones["yard"], counts.lines["gate"].left_to_right):
        assert len(counted) == MOST_LABELS + 1
        assert (counted["other"], sum(counted.values())) == (50, MOST_LABELS + 50)
