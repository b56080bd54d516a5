"""Measures the cost of one input for a network as a share of another network's, side by side."""

from __future__ import annotations

import math
import time

import numpy as np

from operators.inference import Inference
from serving.scheduling.urgency import Urgency

ROUNDS = 9


async def relative_cost(engine: Inference, model: str, reference: str) -> float:
    """Return the ratio of the least times of one input, measured in turns; other work can only lengthen a time."""
    times = [(await _time_s(engine, model), await _time_s(engine, reference)) for _ in range(ROUNDS)]
    return min(own for own, _ in times) / min(its for _, its in times)


async def _time_s(engine: Inference, model: str) -> float:
    size = engine.card(model).input
    batch = np.zeros((1, *size.item_shape), np.dtype(size.dtype))
    started = time.perf_counter()
    await engine.infer(model, batch, Urgency(math.inf))
    return time.perf_counter() - started
