from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.batching_parts.baselines import EarliestFirst, MaximalWindow, SlidingWindow
from benchmarks.batching_parts.policy import Policy
from serving.scheduling.look_ahead import LookAheadPolicy
from tests.serving.scheduling.queues import ONE_S_EACH, Ask, affine, deadlines, droppable, queues, served_in_time

POLICIES: dict[str, Policy] = {
    "earliest first": EarliestFirst(),
    "sliding window": SlidingWindow(3),
    "maximal window": MaximalWindow(),
    "look ahead": LookAheadPolicy(lambda now: 0.0, 20.0),
    "look ahead, busy": LookAheadPolicy(lambda now: 2.0, 5.0),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))

FIVE = [Ask(2.5), Ask(3.0), Ask(5.5), Ask(6.0), Ask(6.5)]
"""At 0, batches of up to 1, 2, 4, 5 and 5 are in time for them."""


def test_earliest_first_runs_what_its_first_request_allows() -> None:
    decision = EarliestFirst()(FIVE, 0.0, ONE_S_EACH, 8)
    assert deadlines(decision.run) == [2.5]
    assert not decision.drop


def test_the_sliding_window_stops_where_its_size_is_in_time() -> None:
    decision = SlidingWindow(3)(FIVE, 0.0, ONE_S_EACH, 8)
    assert deadlines(decision.run) == [5.5, 6.0, 6.5]
    assert deadlines(decision.drop) == [2.5, 3.0]


def test_the_sliding_window_is_no_larger_than_the_queue_behind_it() -> None:
    decision = SlidingWindow(4)([Ask(2.5), Ask(3.0), Ask(3.5)], 0.0, ONE_S_EACH, 8)
    assert deadlines(decision.run) == [3.0, 3.5]
    assert deadlines(decision.drop) == [2.5]


def test_the_maximal_window_is_the_longest_in_time_and_of_equal_ones_the_first() -> None:
    decision = MaximalWindow()([*FIVE, Ask(6.6)], 0.0, ONE_S_EACH, 8)
    assert deadlines(decision.run) == [5.5, 6.0, 6.5, 6.6]
    assert deadlines(decision.drop) == [2.5, 3.0]
    equals = MaximalWindow()([Ask(3.0), Ask(3.0), Ask(3.0)], 0.0, ONE_S_EACH, 8)
    assert len(equals.run) == 2
    assert not equals.drop


def test_looking_ahead_saves_the_first_request_only_where_others_can_wait() -> None:
    urgent, patient = Ask(2.5), [Ask(8.0), Ask(8.0), Ask(8.0)]
    decision = POLICIES["look ahead"]([urgent, *patient], 0.0, ONE_S_EACH, 8)
    assert decision.run == [urgent]
    assert not decision.drop
    hasty = [Ask(4.5), Ask(4.5), Ask(4.5)]
    decision = POLICIES["look ahead"]([urgent, *hasty], 0.0, ONE_S_EACH, 8)
    assert decision.run == hasty
    assert decision.drop == [urgent]


def test_looking_ahead_makes_room_for_those_expected() -> None:
    queue = [Ask(2.5), *(Ask(7.5 + number / 10) for number in range(4))]
    nobody_comes = LookAheadPolicy(lambda now: 0.0, 8.0)(queue, 0.0, ONE_S_EACH, 8)
    assert deadlines(nobody_comes.run) == [2.5]
    many_come = LookAheadPolicy(lambda now: 4.0, 8.0)(queue, 0.0, ONE_S_EACH, 8)
    assert len(many_come.run) == 4
    assert deadlines(many_come.drop) == [2.5]


@every_policy
def test_time_needed_downstream_counts(policy: Policy) -> None:
    at_the_end, half_way = Ask(4.0), Ask(4.0, downstream_s=2.5)
    decision = policy([at_the_end, half_way], 0.0, ONE_S_EACH, 8)
    assert decision.run == [at_the_end]
    assert decision.drop == [half_way]


@every_policy
def test_the_queue_may_come_in_any_order(policy: Policy) -> None:
    decision = policy([Ask(9.0), Ask(8.0), Ask(7.0)], 0.0, ONE_S_EACH, 8)
    assert deadlines(decision.run) == [7.0, 8.0, 9.0]


@every_policy
def test_nothing_waits(policy: Policy) -> None:
    decision = policy([], 0.0, ONE_S_EACH, 8)
    assert not decision.run
    assert not decision.drop


@every_policy
def test_without_deadlines_the_batch_is_full(policy: Policy) -> None:
    decision = policy([Ask(math.inf) for _ in range(9)], 0.0, ONE_S_EACH, 3)
    assert len(decision.run) == 3
    assert not decision.drop


@every_policy
def test_a_request_beyond_the_limit_runs_alone(policy: Policy) -> None:
    large = Ask(11.0, items=9)
    decision = policy([large, Ask(12.0)], 0.0, ONE_S_EACH, 4)
    assert decision.run == [large]


@every_policy
def test_who_is_late_is_dropped_or_runs_in_order(policy: Policy) -> None:
    late = [Ask(-3.0, droppable=False), Ask(-2.0), Ask(-1.0, droppable=False)]
    decision = policy(late, 0.0, ONE_S_EACH, 8)
    assert deadlines(decision.run) == [-3.0, -1.0]
    assert deadlines(decision.drop) == [-2.0]


@every_policy
def test_late_requests_take_what_is_free(policy: Policy) -> None:
    late = [Ask(-number, droppable=False) for number in (5.0, 4.0, 3.0)]
    decision = policy([Ask(4.5), *late], 0.0, ONE_S_EACH, 8)
    assert deadlines(decision.run) == [4.5, -5.0, -4.0]
    assert not decision.drop


@every_policy
def test_the_longest_late_rides_in_every_full_batch(policy: Policy) -> None:
    late = [Ask(-5.0, droppable=False), Ask(-4.0, droppable=False)]
    queue = [Ask(5.0 + number / 10) for number in range(9)]
    decision = policy([*queue, *late], 0.0, ONE_S_EACH, 3)
    assert deadlines(decision.run)[-1] == -5.0
    assert len(decision.run) == 3
    assert len([each for each in decision.run if each.deadline > 0]) == 2


@every_policy
def test_a_late_one_too_large_to_ride_goes_first_where_the_others_can_wait(policy: Policy) -> None:
    late, patient, urgent = Ask(-5.0, items=4, droppable=False), Ask(7.5), Ask(6.5)
    assert policy([late, patient], 0.0, ONE_S_EACH, 4).run == [late]
    assert policy([late, urgent], 0.0, ONE_S_EACH, 4).run == [urgent]


@every_policy
@given(queue=queues, now=st.integers(0, 12).map(float), limit=st.integers(1, 6))
def test_what_holds_of_every_decision(policy: Policy, queue: list[Ask], now: float, limit: int) -> None:
    decision = policy(queue, now, ONE_S_EACH, limit)
    places = sum(each.items for each in decision.run)
    assert places <= limit or len(decision.run) == 1
    assert all(each.droppable for each in decision.drop)
    taken = [id(each) for each in (*decision.run, *decision.drop)]
    assert len(taken) == len(set(taken))
    assert set(taken) <= set(map(id, queue))
    assert bool(taken) == bool(queue)
    end = now + ONE_S_EACH(places)
    late = [each for each in decision.run if end > each.deadline - each.downstream_s]
    assert all(now + ONE_S_EACH(each.items) > each.deadline - each.downstream_s for each in late), "made late"
    assert all(not each.droppable for each in late)


@every_policy
@given(queue=queues, limit=st.integers(1, 6))
def test_everybody_is_run_or_dropped_in_the_end(policy: Policy, queue: list[Ask], limit: int) -> None:
    served_in_time(policy, queue, ONE_S_EACH, limit)


@every_policy
@given(queue=st.lists(droppable, max_size=12))
def test_equally_urgent_requests_keep_their_order(policy: Policy, queue: list[Ask]) -> None:
    decision = policy(queue, 0.0, affine(0.5, 0.25), 6)
    places = [next(number for number, each in enumerate(queue) if each is ask) for ask in decision.run]
    pairs = pairwise(zip(deadlines(decision.run), places, strict=True))
    assert all(first <= second for first, second in pairs)
