"""The urgency of a call, as parameters of ours that other servers do not read, and the queue that an answer tells.

Times are relative, for clocks of two machines differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from serving.remote.protocol.parameters import ParameterMap, Value, flag, number, set_parameter, whole
from serving.scheduling.requests import Urgency

DEADLINE_MS = "deadline_ms"
"""Milliseconds until the deadline, when the call is sent; below 0 where it has passed."""
DROPPABLE = "droppable"
DOWNSTREAM_MS = "downstream_ms"
BACKGROUND = "background"
SLO_MS = "slo_ms"
"""Milliseconds that the query gives a frame in all."""
QUEUE = "queue"
"""In an answer: items that wait at the backend or are being run."""
MOST_MS = 3_600_000.0
"""Times further away are refused."""
WITHOUT_S = 1.0
"""The deadline of a call that names none."""
MOST_QUEUED = 1 << 31


def put_urgency(parameters: ParameterMap, urgency: Urgency, now_s: float) -> None:
    """Write the parameters of a call; ``now_s`` is on the clock of the deadline."""
    if urgency.background:
        set_parameter(parameters, BACKGROUND, True)
    if math.isfinite(urgency.deadline):
        left_ms = (urgency.deadline - now_s) * 1000
        set_parameter(parameters, DEADLINE_MS, max(-MOST_MS, min(left_ms, MOST_MS)))
    if urgency.droppable:
        set_parameter(parameters, DROPPABLE, True)
    if urgency.downstream_s > 0:
        set_parameter(parameters, DOWNSTREAM_MS, min(urgency.downstream_s * 1000, MOST_MS))
    if urgency.slo_s > 0:
        set_parameter(parameters, SLO_MS, min(urgency.slo_s * 1000, MOST_MS))


def read_urgency(values: Mapping[str, Value], now_s: float) -> Urgency:
    """The urgency of a call that came ``now_s``; Malformed where a parameter is out of bounds."""
    background = flag(values, BACKGROUND)
    without_ms = math.inf if background else WITHOUT_S * 1000
    left_ms = number(values, DEADLINE_MS, -MOST_MS, MOST_MS)
    deadline = now_s + (without_ms if left_ms is None else left_ms) / 1000
    downstream_ms = number(values, DOWNSTREAM_MS, 0.0, MOST_MS) or 0.0
    slo_ms = number(values, SLO_MS, 0.0, MOST_MS) or 0.0
    return Urgency(deadline, flag(values, DROPPABLE), downstream_ms / 1000, background, slo_ms / 1000)


def read_queue(values: Mapping[str, Value]) -> int | None:
    """The queue that an answer tells, in items; None where it tells none, Malformed for no such number."""
    return whole(values, QUEUE, MOST_QUEUED)
