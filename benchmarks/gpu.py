"""Networks on a GPU: as Sluice runs them, as ONNX Runtime does by itself, and on a processor; exits, prefixes, streams.

Needs a GPU. Figures of the headline, geometric means over networks unless named:

- ``over_plain_1``, ``over_plain_16``: latency of ONNX Runtime by itself ÷ Sluice's, at that batch
- ``processor_over_plain``: processor time of an item, likewise
- ``first_over_plain``: time of the first batch of a new size, likewise
- ``fp16_64``, ``tf32_64``: time of fp32 ÷ that precision at batches of 64, of the largest network
- ``per_item_64_over_16``: time of an item in a batch of 16 ÷ in one of 64, of the smallest network
- ``exits_all_leave``: time of the whole network ÷ that of one whose rows all leave a third of the way, batches of 16
- ``prefix``: throughput of ten networks with a common prefix together ÷ apart, the most of all networks
- ``streams``: frames per second of the most streams by the GPU ÷ by all processors
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks import prefix
from benchmarks.gpu_parts.networks import DRAWN, SHIPS, network_rows
from benchmarks.gpu_parts.passages import passage_rows
from benchmarks.gpu_parts.streams import stream_rows
from benchmarks.harness import Outcome, Row, run
from serving.engines.execution_device import why_not_on_gpu

BUDGET_S, QUICK_BUDGET_S = 0.5, 0.05
COUNTS, ROUNDS = (2, 10), 20
COLUMNS = (
    *("what", "name", "way", "size", "latency_ms", "p99_ms", "items_per_s", "processor_ms_per_item"),
    *("gpu_joules_per_item", "first_ms", "agreement"),
)


def measure(quick: bool) -> Outcome:
    """Rows of four kinds, told apart by ``what``; what a kind does not measure is None."""
    if (why := why_not_on_gpu()) is not None:
        raise SystemExit(f"benchmarks.gpu needs a GPU: {why}")
    budget_s = QUICK_BUDGET_S if quick else BUDGET_S
    found = [
        *network_rows(quick, budget_s),
        *passage_rows(quick, budget_s),
        *_prefix_rows(quick),
        *stream_rows(quick),
    ]
    rows = [{column: row.get(column) for column in COLUMNS} for row in found]
    return Outcome(rows, headline(rows), partial(draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, float | None]:
    """The figures that the module's docstring explains; None where there are no rows for one."""
    networks = tuple(dict.fromkeys(row["name"] for row in rows if row["what"] == "network"))

    def of(what: str, name: str, way: str, size: int, column: str) -> float | None:
        for row in rows:
            if (row["what"], row["name"], row["way"], row["size"]) == (what, name, way, size):
                value: float | None = row[column]
                return value
        return None

    def mean(one: str, other: str, size: int, column: str) -> float | None:
        pairs = [[of("network", name, way, size, column) for way in (one, other)] for name in networks]
        ratios = [first / second for first, second in pairs if first and second]
        return round(geometric_mean(ratios), 3) if ratios else None

    def ratio(first: float | None, second: float | None) -> float | None:
        return round(first / second, 3) if first and second else None

    def time(name: str, way: str, size: int, what: str = "network") -> float | None:
        return of(what, name, way, size, "latency_ms")

    smallest, largest, most = SHIPS[0], DRAWN[-1], "items_per_s"
    prefixes = [
        ratio(of("prefix", name, "together", 10, most), of("prefix", name, "apart", 10, most))
        for name in prefix.NETWORKS
    ]
    streams = [row for row in rows if row["what"] == "streams"]
    by_device = {row["way"]: row[most] for row in streams if row["size"] == max(each["size"] for each in streams)}
    return {
        "over_plain_1": mean("gpu by itself", "gpu fp32", 1, "latency_ms"),
        "over_plain_16": mean("gpu by itself", "gpu fp32", 16, "latency_ms"),
        "processor_over_plain": mean("gpu by itself", "gpu fp32", 1, "processor_ms_per_item"),
        "first_over_plain": mean("gpu by itself", "gpu fp32", 4, "first_ms"),
        "fp16_64": ratio(time(largest, "gpu fp32", 64), time(largest, "gpu fp16", 64)),
        "tf32_64": ratio(time(largest, "gpu fp32", 64), time(largest, "gpu tf32", 64)),
        "per_item_64_over_16": ratio(
            of("network", smallest, "gpu fp32", 64, most), of("network", smallest, "gpu fp32", 16, most)
        ),
        "exits_all_leave": ratio(
            time("vehicle-type", "whole", 16, "exits"), time("vehicle-type", "cut, 100% leave", 16, "exits")
        ),
        "prefix": max((each for each in prefixes if each), default=None),
        "streams": ratio(by_device.get("sluice, cuda"), by_device.get("sluice, cpu")),
    }


def _prefix_rows(quick: bool) -> Iterator[Row]:
    """What ``benchmarks.prefix`` measures, on the GPU: one item for each of the networks."""
    with tempfile.TemporaryDirectory() as folder:
        for name in prefix.NETWORKS[:1] if quick else prefix.NETWORKS:
            for count in COUNTS[:1] if quick else COUNTS:
                found = prefix.row(name, count, 1, Path(folder), ROUNDS)
                for way in ("apart", "together"):
                    ms = found[f"{way}_ms"]
                    rate = round(1e3 * count / ms, 1)
                    yield {
                        "what": "prefix",
                        "name": name,
                        "way": way,
                        "size": count,
                        "latency_ms": ms,
                        "items_per_s": rate,
                    }


def draw(rows: Sequence[Row], figure: Any) -> None:
    """Items per second by size of batch, a panel for each network."""
    mine = [row for row in rows if row["what"] == "network"]
    names = list(dict.fromkeys(row["name"] for row in mine))
    for panel, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for way in dict.fromkeys(row["way"] for row in mine):
            points = [(row["size"], row["items_per_s"]) for row in mine if (row["name"], row["way"]) == (name, way)]
            panel.loglog(*zip(*points, strict=True), marker="o", label=way, base=2)
        panel.set(title=name, xlabel="batch", ylabel="items per second")
    panel.legend(fontsize=7)


if __name__ == "__main__":
    run("gpu", measure, (__doc__ or "").partition("\n")[0])
