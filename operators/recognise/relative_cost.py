"""What one input costs a network, as a share of what it costs another: measured here and now, side by side."""

from __future__ import annotations

import math
import time
from statistics import median

import numpy as np

from operators.inference import Inference
from serving.urgency import Urgency

ROUNDS = 9


async def relative_cost(engine: Inference, model: str, reference: str) -> float:
    """Median time of one input over the reference's, both loaded, in alternate rounds."""
    ratios = []
    for _ in range(ROUNDS):
        ratios.append(await _time_s(engine, model) / await _time_s(engine, reference))
    return median(ratios)


async def _time_s(engine: Inference, model: str) -> float:
    size = engine.card(model).input
    batch = np.zeros((1, *size.item_shape), np.dtype(size.dtype))
    started = time.perf_counter()
    await engine.infer(model, batch, Urgency(math.inf))
    return time.perf_counter() - started
