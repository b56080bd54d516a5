"""What a way of running costs: time, processor time, and the energy that the GPU counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from serving.engines.execution_device import gpu_uuid

WARM_UPS, LEAST_ROUNDS = 3, 5


@dataclass(frozen=True, slots=True)
class Costs:
    """What one run took."""

    latency_ms: float
    p99_ms: float
    processor_ms: float
    gpu_joules: float | None
    """Energy of the whole GPU over the time; None where it does not tell."""

    def row(self, items: int) -> dict[str, Any]:
        """Columns, for so many items in a run."""
        return {
            "latency_ms": round(self.latency_ms, 3),
            "p99_ms": round(self.p99_ms, 3),
            "items_per_s": round(1e3 * items / self.latency_ms, 1),
            "processor_ms_per_item": round(self.processor_ms / items, 4),
            "gpu_joules_per_item": None if self.gpu_joules is None else round(self.gpu_joules / items, 5),
        }


def costs(run: Callable[[], object], budget_s: float) -> Costs:
    """Run again and again for about ``budget_s``, after some runs that do not count."""
    for _ in range(WARM_UPS):
        run()
    taken, joules = list[float](), joules_so_far()
    processor_s, ends_s = time.process_time(), time.perf_counter() + budget_s
    while len(taken) < LEAST_ROUNDS or time.perf_counter() < ends_s:
        started_s = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started_s)
    processor_s, after = time.process_time() - processor_s, joules_so_far()
    spent = None if joules is None or after is None else (after - joules) / len(taken)
    return Costs(1e3 * median(taken), 1e3 * float(np.quantile(taken, 0.99)), 1e3 * processor_s / len(taken), spent)


def joules_so_far() -> float | None:
    """The energy of the GPU that runs networks, since its driver was loaded; None where nothing tells it."""
    uuid = gpu_uuid()
    if uuid is None:
        return None
    import pynvml

    pynvml.nvmlInit()
    try:
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(pynvml.nvmlDeviceGetHandleByUUID(uuid))) / 1e3
    except pynvml.NVMLError:
        return None
