"""The one form of all benchmarks: ``python -m benchmarks.NAME`` measures, writes CSV and PNG, prints a headline.

A benchmark is a function from "be quick?" to an ``Outcome``, handed to ``run``. ``--quick`` takes at most a minute and
writes nothing. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeVar

from serving.common.libraries import versions_of
from serving.engines.execution_device import gpu_name

RESULTS = Path(__file__).parent / "results"

T = TypeVar("T")
Name = TypeVar("Name", bound=Hashable)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a benchmark found."""

    rows: Sequence[Row]
    """One per measurement, all with the same keys; units in the keys."""
    headline: Mapping[str, Any]
    """The figures that stand for the whole, as JSON."""
    draw: Callable[[Any], None]
    """Draws the rows on a matplotlib ``Figure`` that is empty."""


def run(name: str, measure: Callable[[bool], Outcome], description: str = "") -> None:
    """Parse the command line, measure, write ``results/NAME.csv`` and ``.png`` unless quick, print the headline."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--quick", action="store_true", help="take at most a minute and write nothing")
    quick = bool(parser.parse_args().quick)
    outcome = measure(quick)
    if not quick:
        RESULTS.mkdir(exist_ok=True)
        write_csv(RESULTS / f"{name}.csv", outcome.rows)
        write_png(RESULTS / f"{name}.png", outcome.draw)
    print(json.dumps(dict(outcome.headline)))


def interleaved(variants: Mapping[Name, Callable[[], T]], rounds: int, seed: int = 0) -> dict[Name, list[T]]:
    """Measure every variant once per round, in an order drawn anew, so that no drift of the machine favours one."""
    order = random.Random(seed)
    found: dict[Name, list[T]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name in order.sample(list(variants), len(variants)):
            found[name].append(variants[name]())
    return found


def mean_ratio(ratios: Sequence[float]) -> dict[str, float | None]:
    """The geometric mean of ratios, and the interval that holds it with 95 % (Student's, of their logarithms).

    >>> mean_ratio([0.9, 1.0, 1.1])
    {'mean': 0.997, 'low': 0.777, 'high': 1.279}
    """
    from scipy.stats import t

    logs = [log(each) for each in ratios]
    mean = fmean(logs)
    if len(logs) < 2:
        return {"mean": round(exp(mean), 3), "low": None, "high": None}
    half = float(t.ppf(0.975, len(logs) - 1)) * stdev(logs) / sqrt(len(logs))
    return {"mean": round(exp(mean), 3), "low": round(exp(mean - half), 3), "high": round(exp(mean + half), 3)}


def machine() -> str:
    """Where and with what this was measured, in one line."""
    found = versions_of(("numpy", "onnxruntime-gpu", "onnxruntime", "faust-streaming"))
    if "onnxruntime-gpu" in found:
        found.pop("onnxruntime", None)  # it takes the place of the other
    versions = ", ".join(f"{package} {version}" for package, version in found.items())
    gpu = f"{name}, " if "onnxruntime-gpu" in found and (name := gpu_name()) else ""
    processor = f"{_processor()}, {os.cpu_count()} cores, {_memory_gib()} GiB"
    return f"{processor}, {gpu}Python {platform.python_version()}, {versions}"


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows under a comment line that describes the machine."""
    with path.open("w", newline="") as file:
        file.write(f"# {date.today().isoformat()}; {machine()}\n")
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_png(path: Path, draw: Callable[[Any], None]) -> None:
    """Draw with the machine's description as a footer."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    draw(figure)
    figure.supxlabel(machine(), fontsize=6, color="grey")
    figure.savefig(path, dpi=120)


def _processor() -> str:
    """The processor's name; Linux says it in a file, other systems by ``platform``."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30))
