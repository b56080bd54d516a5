"""Networks on a GPU: as Sluice runs them, as ONNX Runtime does by itself, and on a processor; streams, exits, prefixes.

Needs a GPU. Figures of the headline, geometric means over networks unless one is named:

- ``over_plain_1``, ``over_plain_16``: latency of ONNX Runtime by itself ÷ Sluice's, at that batch
- ``processor_over_plain``: processor time of an item, likewise, one at a time
- ``first_over_plain``: time of the first batch of 4, likewise
- ``fp16_64``, ``tf32_64``: time of fp32 ÷ that precision for 64 items, of the largest network
- ``more_at_64``: items per second in batches of 64 ÷ in batches of 16, of the smallest network
- ``exits_16``: time of the whole network ÷ that of one whose rows all leave a third of the way, batches of 16
- ``prefix``: time of ten networks with a common prefix apart ÷ together
- ``streams``: frames per second of most streams by the GPU ÷ by all processors
- ``stream_processor``: processor time of a frame there, by processors ÷ by the GPU
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks import prefix
from benchmarks.gpu_parts.networks import LARGEST, NETWORKS, SMALLEST, network_rows
from benchmarks.gpu_parts.passages import NAME, passage_rows
from benchmarks.gpu_parts.streams import COUNTS, stream_rows
from benchmarks.harness import Outcome, Row, run
from serving.engines.execution_device import why_not_on_gpu

BUDGET_S, QUICK_BUDGET_S = 0.5, 0.05
PREFIX, RELATIVES, ROUNDS = "vehicle-type", (2, 5, 10), 40
COLUMNS = (
    *("what", "name", "way", "size", "latency_ms", "p99_ms", "items_per_s", "processor_ms_per_item"),
    *("gpu_joules_per_item", "first_ms", "agreement"),
)


def measure(quick: bool) -> Outcome:
    """Rows of four kinds, told apart by ``what``; what a kind does not measure is None."""
    if (why := why_not_on_gpu()) is not None:
        raise SystemExit(f"benchmarks.gpu needs a GPU: {why}")
    rows = [{column: row.get(column) for column in COLUMNS} for row in found_rows(quick)]
    return Outcome(rows, headline(rows), partial(draw, rows))


def found_rows(quick: bool) -> Iterator[Row]:
    """All rows, with the columns that they have."""
    budget_s = QUICK_BUDGET_S if quick else BUDGET_S
    yield from network_rows(quick, budget_s)
    yield from stream_rows(quick)
    yield from passage_rows(quick, budget_s)
    yield from _prefix_rows(quick)


def headline(rows: Sequence[Row]) -> dict[str, float | None]:
    """The figures that the module's docstring explains; None where there are no rows for one."""
    known = {(row["what"], row["name"], row["way"], row["size"]): row for row in rows}

    def ratio(column: str, what: str, name: str, one: str, other: str, sizes: tuple[int, int]) -> float | None:
        found = [known.get((what, name, way, size)) for way, size in zip((one, other), sizes, strict=True)]
        first, second = (None if row is None else row[column] for row in found)
        return round(first / second, 3) if first and second else None

    def mean(column: str, size: int) -> float | None:
        asked = [ratio(column, "network", name, "gpu by itself", "gpu fp32", (size, size)) for name in NETWORKS]
        ratios = [each for each in asked if each is not None]
        return round(geometric_mean(ratios), 3) if ratios else None

    clip, most = next((row["name"] for row in rows if row["what"] == "streams"), ""), (COUNTS[-1],) * 2
    return {
        "over_plain_1": mean("latency_ms", 1),
        "over_plain_16": mean("latency_ms", 16),
        "processor_over_plain": mean("processor_ms_per_item", 1),
        "first_over_plain": mean("first_ms", 4),
        "fp16_64": ratio("latency_ms", "network", LARGEST, "gpu fp32", "gpu fp16", (64, 64)),
        "tf32_64": ratio("latency_ms", "network", LARGEST, "gpu fp32", "gpu tf32", (64, 64)),
        "more_at_64": ratio("items_per_s", "network", SMALLEST, "gpu fp32", "gpu fp32", (64, 16)),
        "exits_16": ratio("latency_ms", "exits", NAME, "whole", "cut, 100% leave", (16, 16)),
        "prefix": ratio("latency_ms", "prefix", PREFIX, "apart", "together", (RELATIVES[-1],) * 2),
        "streams": ratio("items_per_s", "streams", clip, "cuda", "cpu", most),
        "stream_processor": ratio("processor_ms_per_item", "streams", clip, "cpu", "cuda", most),
    }


def _prefix_rows(quick: bool) -> Iterator[Row]:
    """What ``benchmarks.prefix`` measures, on the GPU: one item for each of the networks."""
    with tempfile.TemporaryDirectory() as folder:
        for count in RELATIVES[:1] if quick else RELATIVES:
            found = prefix.row(PREFIX, count, 1, Path(folder), ROUNDS)
            for way in ("apart", "together"):
                ms = found[f"{way}_ms"]
                speed = {"latency_ms": ms, "items_per_s": round(1e3 * count / ms, 1)}
                yield {"what": "prefix", "name": PREFIX, "way": way, "size": count, **speed}


def draw(rows: Sequence[Row], figure: Any) -> None:
    """Items per second by size of batch, a panel for each network."""
    mine = [row for row in rows if row["what"] == "network"]
    names = list(dict.fromkeys(row["name"] for row in mine))
    for panel, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for way in dict.fromkeys(row["way"] for row in mine if row["name"] == name):
            points = [(row["size"], row["items_per_s"]) for row in mine if (row["name"], row["way"]) == (name, way)]
            panel.loglog(*zip(*points, strict=True), marker="o", label=way, base=2)
        panel.set(title=name, xlabel="batch", ylabel="items per second")
        panel.legend(fontsize=7)


if __name__ == "__main__":
    run("gpu", measure, (__doc__ or "").partition("\n")[0])
