"""Requests that wait for the device, how much they hurry, and their answers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.errors import SluiceError


@dataclass(frozen=True, slots=True)
class Urgency:
    """When an answer is wanted, and what may happen where it would come later."""

    deadline: float
    """When everything that follows from the answer should be finished, on ``time.monotonic()``'s clock."""
    droppable: bool = False
    """A request that cannot be answered in time may be given up (``TooLate``); otherwise it is answered late."""
    downstream_s: float = 0.0
    """The least time still needed once the answer is there."""
    background: bool = False
    """Audits and offline work: run only while nothing else waits."""
    slo_s: float = 0.0
    """From a frame's capture to its deadline, by its query; 0 where nobody knows."""
    share: float = 0.0
    """The part of the time until the deadline that this is best given, 0 to 1; 0 where nobody knows."""
    priority: int = 0
    """Where a fleet is planned that cannot serve all, higher is served first."""


BACKGROUND = Urgency(math.inf, background=True)
PriceAt = Callable[[str], float]
"""The price of a request at a place, by the name of a model there; infinite: it is not paid for."""


def free(name: str) -> float:
    """A ``PriceAt`` where nobody pays."""
    return 0.0


Answer = list[list[Array]] | SluiceError
"""The outputs for every request of a batch, or why there are none."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A batch for one model, and the future that its caller awaits."""

    model: str
    batch: Array
    urgency: Urgency
    answer: asyncio.Future[list[Array]]
    policy: RowPolicy | None = None
    """For a network with cuts."""

    @property
    def items(self) -> int:
        return len(self.batch)

    @property
    def deadline(self) -> float:
        return self.urgency.deadline

    @property
    def droppable(self) -> bool:
        return self.urgency.droppable

    @property
    def downstream_s(self) -> float:
        return self.urgency.downstream_s


def give_answers(requests: Sequence[Request], answer: Answer) -> None:
    """On the loop: resolve the requests of one batch; cancelled ones are skipped."""
    for place, request in enumerate(requests):
        if request.answer.done():
            continue
        if isinstance(answer, SluiceError):
            request.answer.set_exception(answer)
        else:
            request.answer.set_result(answer[place])
