"""A rehearsal comes to its end however long the machine has been running, and however fast requests come."""

from __future__ import annotations

import pytest

from serving.scheduling.look_ahead import Rehearsal

WAITING, COMING = 2, 38


def rehearsal(now: float, rate: float) -> Rehearsal:
    count = WAITING + COMING
    return Rehearsal([now + 1.0] * count, range(count + 1), WAITING, rate, now, lambda _: 0.01, 8, count - 8, 1.0)


@pytest.mark.parametrize("now", [0.0, 4e4, 1e6 + 0.7, 1e8 + 0.1])
@pytest.mark.parametrize("rate", [0.5, 25.0, 200.3, 9999.7, 1e6 / 3])
def test_whoever_is_waited_for_comes(now: float, rate: float) -> None:
    expected = rehearsal(now, rate)
    for position in range(expected.stop):
        at, present = expected.wait(now, position)
        assert at >= now
        assert position < present <= len(expected.due)


def test_those_who_came_meanwhile_are_present_too() -> None:
    at, present = rehearsal(1e6, 10.0).wait(1e6 + 0.55, WAITING)
    assert (at, present) == (1e6 + 0.55, WAITING + 5)
