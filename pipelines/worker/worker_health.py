"""Looks at a worker every second, for those who watch it, with a line in the log where something is wrong, once."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from operators.observer import UNOBSERVED, Observer
from operators.transports.kafka import Consumer
from pipelines.health.heartbeat import INTERVAL_S
from pipelines.health.liveness import Liveness, Observation, PartitionView
from pipelines.partition.tally import Tally
from pipelines.process.tasks import meanwhile
from pipelines.report.minute import MinuteLine, Totals
from pipelines.worker.agent import FrameAgent
from serving.common.retrying import Backoff
from serving.errors import SluiceError

log = logging.getLogger(__name__)

CATCHING_UP = 50
"""Number of waiting frames at the beginning that is logged."""
BACKOFF = Backoff(first_s=0.5, max_s=10.0)
"""Pause before a new beginning."""


class WorkerHealth:
    """The health of one worker over all its lives."""

    def __init__(
        self,
        liveness: Liveness,
        tally: Tally,
        observer: Observer = UNOBSERVED,
        ending: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """``ending`` is called with the reason when a worker that is stalled for good begins to end."""
        self._ending = ending
        self._observer = observer
        self._liveness = liveness
        self._tally = tally
        self._minute = MinuteLine(time.monotonic())
        self._rng = random.Random()
        self._is_logged = False
        self._begun = False
        self._sizes: dict[str, int] = {}

    def waits(self, reason: str) -> None:
        """Note that the worker cannot begin yet."""
        self._observer.worker_waits(reason)

    def restarted(self, cause: str) -> float:
        """Note that the worker begins anew, for this reason; returns the seconds that it should wait before."""
        self._liveness.restarted(cause)
        self._tally.begin_anew()
        self._observer.worker_waits(f"the worker begins anew: {cause}")
        return BACKOFF.delay_s(self._liveness.restarts - 1, self._rng)

    def watching(self, agent: FrameAgent) -> AbstractAsyncContextManager[None]:
        """Observe the worker while the block runs."""
        return meanwhile(self._watch(agent))

    async def _watch(self, agent: FrameAgent) -> None:
        self._begun = False
        while True:
            if self._look(agent):
                return
            await asyncio.sleep(INTERVAL_S)

    def _look(self, agent: FrameAgent) -> bool:
        """Whether the worker has to end."""
        app, now_s = agent.app, time.monotonic()
        seen = observe(app.consumer, self._tally, agent.joined and not app.rebalancing, agent.storing, now_s)
        problem = self._liveness.verdict(seen)
        if app.should_stop:
            problem = problem or "the worker's connection to the broker ends"
        self._log_change(problem)
        behind = sum(item.behind for item in seen.partitions)
        self._say_where_it_begins(seen, behind)
        self._say_what_has_grown(app.consumer.topic_sizes())
        lag_s = max(0.0, self._tally.lag_s(time.time())) if behind else 0.0
        self._observer.worker_checked({item.partition: item.behind for item in seen.partitions}, lag_s, problem)
        if line := self._minute.line(seen.now_s, Totals(*self._tally.counts, behind, lag_s)):
            log.info("%s", line)
        hopeless = self._liveness.is_hopeless(seen)
        if hopeless:
            reason = f"{problem}: the process ends here, so that it can be started anew"
            self._ending(reason)
            agent.end(SluiceError(reason))
        return hopeless

    def _say_where_it_begins(self, seen: Observation, behind: int) -> None:
        """Log the backlog once the broker has said how large it is."""
        known = seen.joined and all(item.end is not None and item.position is not None for item in seen.partitions)
        if known and not self._begun:
            self._begun = True
            if behind >= CATCHING_UP:
                log.info("catching up: %d frames behind; of live streams those that are too old are dropped", behind)

    def _say_what_has_grown(self, sizes: dict[str, int]) -> None:
        """Log the number of partitions where it is another one than before."""
        for topic, size in sizes.items():
            before = self._sizes.get(topic, size)
            if size != before:
                log.info("topic %s has %d partitions now, it had %d: they are shared out anew", topic, size, before)
        self._sizes |= sizes

    def _log_change(self, problem: str | None) -> None:
        if problem is not None and not self._is_logged:
            log.warning("not healthy: %s", problem)
        elif problem is None and self._is_logged:
            log.info("healthy again")
        self._is_logged = problem is not None


def observe(consumer: Consumer, tally: Tally, joined: bool, storing: bool, now_s: float) -> Observation:
    """The figures of a worker that can be seen from outside."""
    views = tuple(
        PartitionView(
            state.topic,
            state.partition,
            state.end,
            state.position,
            state.handed,
            tally.acknowledged.get((state.topic, state.partition), state.begun),
            state.refusal,
        )
        for state in consumer.fetch_states()
    )
    return Observation(now_s, joined, consumer.answered_s, views, storing)
