"""A way to a sink on which waiting takes no time, and what became of notifications on it."""

from __future__ import annotations

import asyncio

from operators.observer import Observer, Observers
from operators.wire.schema import Event
from pipelines.observe.forward.delivery import Delivery
from pipelines.observe.forward.sink import Missing, Sink
from pipelines.observe.forward.sinks_file import SinkSpec
from tests.fake_clock import FakeClock


class Outcomes(Observer):
    """How deliveries ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.waiting: list[int] = []
        self.slept = 0

    def notification_ended(self, sink: str, outcome: str) -> None:
        self.ended.append(outcome)

    def sink_checked(self, sink: str, waiting: int) -> None:
        self.waiting.append(waiting)


async def no_frame(event: Event) -> Missing:
    """Finds none."""
    return "gone"


def way(sink: Sink, clock: FakeClock, outcomes: Outcomes, max_age_s: float = 3600.0) -> Delivery:
    """The way to a sink called ``hook``; to wait is to move the clock."""

    async def sleep(seconds: float) -> None:
        outcomes.slept += 1
        clock.advance(seconds)
        await asyncio.sleep(0)

    return Delivery(SinkSpec(name="hook", max_age_s=max_age_s), sink, Observers([outcomes]), clock, sleep)
