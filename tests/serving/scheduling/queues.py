"""For the tests of batching: requests, affine latencies, a device in steps, the best that any schedule can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from hypothesis import strategies as st

from benchmarks.batching_parts.policy import Policy
from serving.scheduling.batching import TOLERANCE_S, Latency


@dataclass(frozen=True)
class Ask:
    deadline: float
    items: int = 1
    droppable: bool = True
    downstream_s: float = 0.0


def affine(fixed_s: float, each_s: float) -> Latency:
    return lambda places: fixed_s + each_s * places


ONE_S_EACH = affine(1.0, 1.0)
"""A batch of b takes 1 + b seconds, so that queues can be checked by head."""

asks = st.builds(Ask, st.integers(0, 20).map(float), st.integers(1, 5), st.booleans(), st.sampled_from([0.0, 1.0, 3.0]))
queues = st.lists(asks, max_size=8)
droppable = st.builds(Ask, st.integers(2, 20).map(float))


def deadlines(requests: Sequence[Ask]) -> list[float]:
    return [each.deadline for each in requests]


def most_in_time(queue: Sequence[Ask], latency: Latency, limit: int) -> int:
    """How many a device can serve in time that starts at 0: every batch of those left is tried, in every order."""

    @cache
    def most(left: frozenset[int], now: float) -> int:
        found = 0
        for chosen in (c for size in range(1, len(left) + 1) for c in combinations(sorted(left), size)):
            places = sum(queue[each].items for each in chosen)
            due = min(queue[each].deadline - queue[each].downstream_s for each in chosen)
            end = now + latency(places)
            if (places <= limit or len(chosen) == 1) and end <= due + TOLERANCE_S:
                found = max(found, len(chosen) + most(left - set(chosen), end))
        return found

    return most(frozenset(range(len(queue))), 0.0)


def served_in_time(policy: Policy, queue: Sequence[Ask], latency: Latency, limit: int) -> int:
    """How many are in time when a device follows the policy from 0 on; ends only when nobody waits any more."""
    left, now, in_time = list(queue), 0.0, 0
    while left:
        decision = policy(left, now, latency, limit)
        gone = {id(each) for each in (*decision.run, *decision.drop)}
        assert gone, "the policy neither runs nor drops anything"
        left = [each for each in left if id(each) not in gone]
        now += latency(sum(each.items for each in decision.run)) if decision.run else 0.0
        in_time += sum(now <= each.deadline - each.downstream_s + TOLERANCE_S for each in decision.run)
    return in_time
