from __future__ import annotations

import math

import pytest

from serving.remote.session_meter import FADING_S, FORGOTTEN_S, SessionMeter, stepped
from serving.scheduling.requests import BACKGROUND, Urgency


def urgency(left_s: float, now_s: float = 0.0, slo_s: float = 0.5, after_s: float = 0.0) -> Urgency:
    return Urgency(now_s + left_s, downstream_s=after_s, slo_s=slo_s)


def test_what_comes_late_or_never_is_late() -> None:
    meter = SessionMeter()
    meter.asked("a", urgency(0.4), 2, 0.0).ended(0.3, answered=True)
    meter.asked("a", urgency(0.4), 3, 0.0).ended(0.5, answered=True)
    meter.asked("a", urgency(0.4, after_s=0.2), 5, 0.0).ended(0.3, answered=True)
    meter.asked("a", urgency(0.4), 7, 0.0).ended(0.1, answered=False)
    (counts,) = meter.sessions.values()
    assert (counts.asked, counts.served, counts.late) == (17, 10, 15)


def test_background_work_is_no_session() -> None:
    meter = SessionMeter()
    for each in (BACKGROUND, Urgency(math.inf)):
        meter.asked("a", each, 1, 0.0).ended(1.0, answered=True)
    assert not meter.sessions


def test_time_is_shared_with_what_follows_and_waiting_does_not_shorten_it() -> None:
    meter = SessionMeter()
    meter.asked("a", urgency(0.4), 1, 0.0).ended(0.1, answered=True)
    meter.asked("a", urgency(0.4, after_s=0.3), 1, 0.0)
    (counts,) = meter.sessions.values()
    assert counts.slo_s == stepped(0.4)
    for _ in range(100):
        meter.asked("a", urgency(-3.0), 1, FADING_S - 1)
    assert counts.slo_s == stepped(0.4)
    meter.asked("a", urgency(-3.0), 1, FADING_S + 1)
    assert counts.slo_s == stepped(0.36)
    follows = SessionMeter()
    follows.asked("b", urgency(0.4, after_s=0.3), 1, 0.0).ended(0.1, answered=True)
    assert [each.slo_s for each in follows.sessions.values()] == [stepped(0.2)]  # before anything is known: half each


def test_a_share_that_is_known_counts_in_place_of_proportions() -> None:
    meter = SessionMeter()
    meter.asked("a", Urgency(0.4, downstream_s=0.1, slo_s=0.5, share=0.25), 1, 0.0)
    assert [each.slo_s for each in meter.sessions.values()] == [stepped(0.1)]


@pytest.mark.parametrize(("slo_s", "has_s"), [(0.5, stepped(0.5)), (0.0, stepped(0.0))])
def test_a_session_that_begins_late_has_a_time_too(slo_s: float, has_s: float) -> None:
    meter = SessionMeter()
    meter.asked("a", urgency(-2.0, slo_s=slo_s), 1, 0.0)
    (counts,) = meter.sessions.values()
    assert counts.slo_s == has_s > 0


def test_cameras_of_one_slo_share_a_session_and_sessions_are_bounded() -> None:
    meter = SessionMeter(most=3)
    for number in range(50):
        meter.asked("a", urgency(0.4 - number / 1000), 1, 0.0)
    assert len(meter.sessions) == 1
    for number in range(50):
        meter.asked(f"b{number}", urgency(0.4), 1, 1.0).ended(1.1, answered=True)
    assert [model for model, *_ in meter.sessions] == ["a", "b0", "b1"]
    meter.asked("c", urgency(0.4), 1, FORGOTTEN_S + 2.0)
    assert [model for model, *_ in meter.sessions] == ["c"]


@pytest.mark.parametrize("time_s", [-1.0, 0.0, 1e-9, 0.05, 1e9])
def test_steps_are_within_bounds(time_s: float) -> None:
    assert 0.001 <= stepped(time_s) <= 3600
