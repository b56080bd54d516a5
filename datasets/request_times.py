"""When requests come: the two workloads of Shen, 2019, Figure 3.12, as times in seconds from 0 on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def uniform(rate: float, duration_s: float) -> Iterator[float]:
    """One request every 1 / ``rate`` seconds, as a camera sends frames."""
    return (number / rate for number in range(int(rate * duration_s)))


def poisson(rate: float, duration_s: float, rng: np.random.Generator) -> Iterator[float]:
    """Independent requests: the gaps between them are exponential with mean 1 / ``rate``."""
    now = float(rng.exponential(1 / rate))
    while now < duration_s:
        yield now
        now += float(rng.exponential(1 / rate))
