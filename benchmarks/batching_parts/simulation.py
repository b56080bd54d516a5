"""One device and one session in virtual time: requests come, a policy decides, batches take what the latency says."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.batching_parts.policy import Policy
from serving.scheduling.batching import Latency


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A request that may be dropped."""

    arrived: float
    deadline: float
    items: int = 1
    droppable: bool = True
    downstream_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """What became of the requests."""

    missed: float
    """Share of the requests that were dropped or late."""
    batches: Sequence[int]
    decisions_s: Sequence[float]
    """Processor time of every decision."""


def simulate(
    policy: Policy,
    asks: Sequence[Ask],
    latency: Latency,
    max_batch: int,
    arrived: Callable[[float, float], None] = lambda now, time_s: None,
) -> Run:
    """Serve requests in the order in which they arrive; ``arrived`` is told each, with the time the request has."""
    coming = deque(asks)
    queue: list[Ask] = []
    now, in_time, batches, decisions_s = 0.0, 0, list[int](), list[float]()
    while coming or queue:
        now = now if queue else max(now, coming[0].arrived)
        while coming and coming[0].arrived <= now:
            queue.append(coming.popleft())
            arrived(queue[-1].arrived, queue[-1].deadline - queue[-1].arrived)
        started = time.thread_time()
        decision = policy(queue, now, latency, max_batch)
        decisions_s.append(time.thread_time() - started)
        gone = {id(each) for each in (*decision.run, *decision.drop)}
        queue = [each for each in queue if id(each) not in gone]
        if decision.run:
            batches.append(len(decision.run))
            now += latency(sum(each.items for each in decision.run))
            in_time += sum(now <= each.deadline for each in decision.run)
    return Run(1 - in_time / len(asks), batches, decisions_s)
