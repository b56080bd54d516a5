"""Four workers beside one: how many times as many frames, by the number of streams. Computed, not run.

A machine with two cores does not show it. What is computed is what limits workers on machines of their own: a stream's
frames all go to one partition, by the hash of its name, and a partition to one worker. All streams are equal, and
every frame takes what one worker was measured to take with eight streams on Kafka (``results/pipeline.csv``), so the
worker with the most streams is the last to be done. Names of streams are drawn anew each time. That the broker holds
four workers' frames is taken for granted.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from aiokafka.partitioner import murmur2

from benchmarks import harness

WORKERS = 4
STREAMS = (12, 24, 48, 96, 192, 384)
PARTITIONS = 16
"""Any multiple of the workers gives the same."""
DRAWS, QUICK_DRAWS = 1000, 50


def frames_per_s() -> float:
    """A single worker's, measured under a backlog of eight streams on Kafka."""
    with (harness.RESULTS / "pipeline.csv").open() as file:
        rows = [*csv.DictReader(line for line in file if not line.startswith("#"))]
    return median(
        float(row["fps"])
        for row in rows
        if (row["transport"], row["streams"], row["load"]) == ("kafka://", "8", "backlog")
    )


def partition(stream: str, partitions: int) -> int:
    """As Kafka's clients choose it."""
    return int((murmur2(stream.encode()) & 0x7FFFFFFF) % partitions)


def times_as_many(streams: Sequence[str], workers: int = WORKERS) -> float:
    """Frames of all workers in the time of the busiest, over those of one; partitions are dealt out in turn."""
    busy = Counter(partition(stream, PARTITIONS) % workers for stream in streams)
    return len(streams) / max(busy.values())


def measure(quick: bool) -> harness.Outcome:
    """All numbers of streams."""
    rows = [*_rows(QUICK_DRAWS if quick else DRAWS)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def _rows(draws: int) -> Iterator[harness.Row]:
    rng, one = np.random.default_rng(0), frames_per_s()
    for streams in STREAMS:
        drawn = rng.integers(0, 1 << 31, (draws, streams)).tolist()
        found = [times_as_many([f"camera-{number}" for number in numbers]) for numbers in drawn]
        low, middle, high = np.percentile(found, (5, 50, 95)).tolist()
        yield {
            "streams": streams,
            "times_p5": round(low, 2),
            "times_p50": round(middle, 2),
            "times_p95": round(high, 2),
            "frames_per_s_p50": round(one * middle),
        }


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """Medians by the number of streams."""
    return {"times": {str(row["streams"]): row["times_p50"] for row in rows}}


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots()
    streams = [row["streams"] for row in rows]
    axes.plot(streams, [row["times_p50"] for row in rows], color="#2a7", marker="o", label="median")
    low, high = ([row[key] for row in rows] for key in ("times_p5", "times_p95"))
    axes.fill_between(streams, low, high, color="#2a7", alpha=0.15, label="5 % to 95 % of drawn names")
    axes.axhline(3.4, color="#c33", lw=0.8, ls=":", label="3.4")
    axes.set_xscale("log", base=2)
    axes.set_xticks(streams, [str(each) for each in streams], fontsize=7)
    axes.set_xlabel("streams", fontsize=8)
    axes.set_ylim(1, WORKERS)
    axes.set_title("frames of four workers over those of one", fontsize=8)
    axes.legend(fontsize=7)


if __name__ == "__main__":
    harness.run("workers", measure, __doc__ or "")
