"""What one input costs a network, as a share of what it costs another: measured here and now, side by side."""

from __future__ import annotations

import math
import time

import numpy as np

from operators.inference import Inference
from serving.urgency import Urgency

ROUNDS = 9


async def relative_cost(engine: Inference, model: str, reference: str) -> float:
    """Least time of one input over the reference's, both loaded, in alternate rounds; other work only ever adds."""
    times = [(await _time_s(engine, model), await _time_s(engine, reference)) for _ in range(ROUNDS)]
    return min(own for own, _ in times) / min(its for _, its in times)


async def _time_s(engine: Inference, model: str) -> float:
    size = engine.card(model).input
    batch = np.zeros((1, *size.item_shape), np.dtype(size.dtype))
    started = time.perf_counter()
    await engine.infer(model, batch, Urgency(math.inf))
    return time.perf_counter() - started
