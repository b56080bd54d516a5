from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.batching_parts.baselines import EarliestFirst
from serving.scheduling.batching import Latency, WaitingLine, line_up
from serving.scheduling.look_ahead import CALM, WINDOWS, LookAheadPolicy, first_windows
from tests.serving.scheduling.queues import ONE_S_EACH, Ask, affine, most_in_time, served_in_time

TIME_S = 20.0
NOBODY_COMES = LookAheadPolicy(lambda now: 0.0, TIME_S)

times = st.floats(0.5, 12.0)
latencies = st.builds(affine, st.sampled_from([0.25, 1.0, 2.0]), st.sampled_from([0.125, 0.5, 1.0]))


def line_of(queue: list[Ask], limit: int) -> WaitingLine[Ask]:
    line, _ = line_up(queue, 0.0, ONE_S_EACH, limit)
    return line


@settings(derandomize=True, deadline=None)
@given(st.lists(st.builds(Ask, times), max_size=6), latencies, st.integers(1, 6))
def test_of_a_known_queue_at_most_one_less_than_possible_is_in_time(
    queue: list[Ask], latency: Latency, limit: int
) -> None:
    assert served_in_time(NOBODY_COMES, queue, latency, limit) >= most_in_time(queue, latency, limit) - 1


@settings(derandomize=True, deadline=None)
@given(st.lists(st.builds(Ask, times, st.integers(1, 4)), max_size=5), latencies)
def test_so_it_is_with_requests_of_several_places(queue: list[Ask], latency: Latency) -> None:
    assert served_in_time(NOBODY_COMES, queue, latency, 5) >= most_in_time(queue, latency, 5) - 1


def test_the_best_schedules_are_mostly_found() -> None:
    draw = random.Random(0)
    gaps, gaps_earliest_first = [], []
    for _ in range(150):
        queue = [Ask(draw.uniform(0.5, 12.0)) for _ in range(draw.randint(2, 6))]
        latency = affine(draw.choice([0.25, 1.0, 2.0]), draw.choice([0.125, 0.5, 1.0]))
        best = most_in_time(queue, latency, 6)
        gaps.append(best - served_in_time(NOBODY_COMES, queue, latency, 6))
        gaps_earliest_first.append(best - served_in_time(EarliestFirst(), queue, latency, 6))
    assert sum(gap > 0 for gap in gaps) <= 5
    assert sum(gaps) <= sum(gaps_earliest_first)


@given(st.lists(st.builds(Ask, times, st.integers(1, 4)), min_size=1, max_size=30), st.integers(1, 12))
def test_windows_tried_are_few_and_reach_from_no_drop_to_the_longest(queue: list[Ask], limit: int) -> None:
    line = line_of(queue, limit)
    if not line.requests:
        return
    windows = first_windows(line)
    assert 1 <= len(windows) <= WINDOWS
    assert windows[0] == (0, line.longest(0))
    longest = max(line.places[line.longest(start)] - line.places[start] for start in range(len(line.requests)))
    if all(each.items == 1 for each in queue):
        assert max(line.places[end] - line.places[start] for start, end in windows) == longest


@given(st.lists(st.builds(Ask, times), min_size=1, max_size=12), st.floats(0.0, 8.0), st.floats(0.0, 12.0))
def test_rehearsals_end_whatever_is_expected(queue: list[Ask], rate: float, time_s: float) -> None:
    served_in_time(LookAheadPolicy(lambda now: rate, time_s), queue, ONE_S_EACH, 4)


@given(st.lists(st.builds(Ask, times), min_size=1, max_size=8))
def test_a_network_of_unknown_speed_runs_everybody(queue: list[Ask]) -> None:
    decision = LookAheadPolicy(lambda now: 3.0, 1.0)(queue, 0.0, lambda places: 0.0, 8)
    assert len(decision.run) == len(queue)


HURRIED = LookAheadPolicy(lambda now: 1.0, 16.0, lambda least_s: 6.0)
"""Newcomers have 16 s on average; those in a hurry have 6, so a batch of two that takes 3 s is for them."""


def test_hurried_newcomers_are_not_kept_waiting_by_a_long_batch() -> None:
    queue = [Ask(16.0) for _ in range(8)]
    assert len(HURRIED(queue, 0.0, ONE_S_EACH, 8).run) == 2
    assert len(LookAheadPolicy(lambda now: 1.0, 16.0)(queue, 0.0, ONE_S_EACH, 8).run) == 8


def test_under_an_overload_a_long_batch_serves_more() -> None:
    queue = [Ask(16.0) for _ in range(8)]
    for lost, size in ((CALM - 0.001, 2), (CALM, 8)):
        policy = LookAheadPolicy(lambda now: 1.0, 16.0, lambda least_s: 6.0, lost)
        assert len(policy(queue, 0.0, ONE_S_EACH, 8).run) == size


def test_where_times_are_alike_nothing_changes() -> None:
    alike = LookAheadPolicy(lambda now: 1.0, 16.0, lambda least_s: 15.0)
    queue = [Ask(16.0) for _ in range(8)]
    assert alike(queue, 0.0, ONE_S_EACH, 8) == LookAheadPolicy(lambda now: 1.0, 16.0)(queue, 0.0, ONE_S_EACH, 8)


@given(st.lists(st.builds(Ask, times, st.integers(1, 3)), min_size=1, max_size=10), st.floats(0.0, 4.0))
def test_with_different_times_too_everybody_is_served_or_dropped(queue: list[Ask], rate: float) -> None:
    served_in_time(LookAheadPolicy(lambda now: rate, 10.0, lambda least_s: 3.0), queue, ONE_S_EACH, 4)
