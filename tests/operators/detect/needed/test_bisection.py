"""Which frames of a window are detected: against a plain recursion, and what that costs and misses in a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.detect.needed.bisection import SHORTEST, Bisection, FrameSpan, Verdict, window_s
from operators.detect.needed.pace import FIRST, PACES

EVERY = PACES[FIRST]


def played(times_s: Sequence[float], verdict: Callable[[FrameSpan], Verdict]) -> tuple[list[int], Bisection]:
    """The frames that were detected, in order."""
    window, detected = Bisection(times_s, EVERY), []
    while window.wanted is not None:
        detected.append(window.wanted)
        window.detected()
        while (span := window.open) is not None:
            window.judge(verdict(span))
    return detected, window


def recursive(times_s: Sequence[float], verdict: Callable[[FrameSpan], Verdict], span: FrameSpan) -> set[int]:
    """The frames between the ends that must be detected, by definition."""
    if span.last - span.first < 2 or verdict(span) == "explained":
        return set()
    short = times_s[span.last] - times_s[span.first] <= SHORTEST * window_s(EVERY) + 0.001
    if short and verdict(span) != "cut":
        return set()
    halves = [FrameSpan(span.first, span.middle), FrameSpan(span.middle, span.last)]
    return {span.middle}.union(*(recursive(times_s, verdict, half) for half in halves))


@given(
    st.lists(st.floats(0.0, 0.3), min_size=1, max_size=24),
    st.lists(st.sampled_from(["explained", "unexplained", "cut"]), min_size=7, max_size=7),
)
def test_it_detects_what_the_recursion_does_and_plans_every_frame_once(steps_s: list[float], said: list[str]) -> None:
    times_s = [sum(steps_s[:n]) for n in range(len(steps_s) + 1)]

    def verdict(span: FrameSpan) -> Verdict:
        return said[(3 * span.first + span.last) % 7]  # type: ignore[return-value]

    detected, window = played(times_s, verdict)
    last = len(times_s) - 1
    assert detected[0] == last
    assert len(set(detected)) == len(detected)
    assert set(detected) == {last} | recursive(times_s, verdict, FrameSpan(0, last))
    filled = [at for span in window.filled for at in range(span.first + 1, span.last)]
    assert sorted([*detected, *filled]) == list(range(1, last + 1))
    assert filled == sorted(filled)


@given(st.integers(2, 30), st.integers(1, 29))
def test_an_object_that_appears_costs_the_logarithm_and_is_placed_to_the_shortest_span(frames: int, born: int) -> None:
    born = min(born, frames)
    times_s = [0.5 * n / frames for n in range(frames + 1)]

    def verdict(span: FrameSpan) -> Verdict:
        return "unexplained" if span.first < born <= span.last else "explained"

    detected, window = played(times_s, verdict)
    assert len(detected) <= 3
    (holding,) = [s for s in window.filled if s.first < born <= s.last] or [FrameSpan(born - 1, born)]
    assert times_s[holding.last] - times_s[holding.first] <= 0.2 + 0.5 / frames


def test_a_window_that_its_ends_explain_takes_one_detection() -> None:
    detected, window = played([n / 25 for n in range(13)], lambda span: "explained")
    assert detected == [12]
    assert window.filled == [FrameSpan(0, 12)]


def test_a_cut_is_followed_to_the_frame() -> None:
    detected, _ = played([n / 25 for n in range(13)], lambda s: "cut" if s.first < 8 <= s.last else "explained")
    assert {7, 8} <= set(detected)
    assert len(detected) < 6


def test_only_cuts_are_followed_to_every_frame() -> None:
    detected, _ = played([n / 25 for n in range(13)], lambda span: "cut")
    assert sorted(detected) == list(range(1, 13))
    detected, _ = played([n / 25 for n in range(13)], lambda span: "unexplained")
    assert len(detected) == 4


def test_two_frames_leave_nothing_between() -> None:
    detected, window = played([0.0, 0.04], lambda span: "unexplained")
    assert detected == [1]
    assert window.filled == []


def test_a_larger_pace_looks_farther_ahead() -> None:
    assert window_s(EVERY) == pytest.approx(0.5)
    assert [window_s(every) for every in PACES] == sorted(window_s(every) for every in PACES)
