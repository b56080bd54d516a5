"""The memory of processes and their children over time, and how fast it grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

import psutil
from scipy.stats import theilslopes

MB = 1_000_000
HOUR_S = 3600.0
LOW_POINT_S = 60.0
FEWEST_LOW_POINTS = 3


@dataclass(frozen=True)
class Sample:
    """One process at one moment."""

    time_s: float
    process: str
    pid: int
    rss_mb: float
    """What lies in memory."""
    uss_mb: float
    """What nobody else has."""
    pss_mb: float
    """That, and its share of what others have too."""

    def row(self) -> dict[str, str | float]:
        """As the CSV has it."""
        return asdict(self)


def samples(processes: Mapping[str, int], time_s: float) -> Iterator[Sample]:
    """Memory of each process and its children; one that ends meanwhile is left out."""
    for name, pid in processes.items():
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            yield _sample(process, name, time_s)
            for number, child in enumerate(sorted(process.children(recursive=True), key=_age), 1):
                with suppress(psutil.NoSuchProcess):
                    yield _sample(child, f"{name}, child {number}", time_s)


def mb_per_hour(found: Sequence[Sample], field: str, from_s: float) -> dict[str, float]:
    """By process: the median of the slopes between all pairs of low points since ``from_s``, which no outlier moves."""
    slopes: dict[str, float] = {}
    for name in dict.fromkeys(each.process for each in found):
        mine = low_points([each for each in found if each.process == name and each.time_s >= from_s], field)
        if len(mine) > 1:
            slope = theilslopes([getattr(each, field) for each in mine], [each.time_s for each in mine]).slope
            slopes[name] = float(slope) * HOUR_S
    return slopes


def low_points(found: Sequence[Sample], field: str) -> list[Sample]:
    """The least sample of each full minute that has one, or all samples where there are less than three minutes.

    Workers give free memory back once a minute: what they hold above the low points is no growth, what leaks stays.
    """
    full = int((found[-1].time_s - found[0].time_s + 5) // LOW_POINT_S) if found else 0
    if full < FEWEST_LOW_POINTS:
        return list(found)
    minutes: dict[int, list[Sample]] = {}
    for each in found:
        minutes.setdefault(int((each.time_s - found[0].time_s) // LOW_POINT_S), []).append(each)
    mine = (minutes[number] for number in range(full) if number in minutes)
    return [min(each, key=lambda one: float(getattr(one, field))) for each in mine]


def _sample(process: psutil.Process, name: str, time_s: float) -> Sample:
    memory = process.memory_full_info()
    rss, uss, pss = (round(getattr(memory, field) / MB, 3) for field in ("rss", "uss", "pss"))
    return Sample(round(time_s, 1), name, process.pid, rss, uss, pss)


def _age(process: psutil.Process) -> tuple[float, int]:
    return process.create_time(), process.pid
