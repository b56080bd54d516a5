"""What it costs to run a network in segments where no exit is taken (target: at most 3 % at up to 4 cut points).

The default engine runs each network whole and in segments, by turns. Cut points are spaced evenly by measured latency.
The overhead is the median over rounds of segments ÷ whole, less 1: of processor time, which other work on the machine
disturbs less, and of elapsed time. The headline has both for one core and for all, at 1 to 4 cut points: the median of
all networks and batch sizes, the worst of them, and the median of the networks that take ``LARGE_MS`` and more. What
several cores add is waking their threads at every cut. The rest is a call (some 10 µs) and data rearranged in memory.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx

from benchmarks.harness import Outcome, Row, run
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import cut_points
from serving.graphs.segments import split
from serving.profiling.timing import segment_times, take_turns

WEIGHTS = Path(os.environ.get("SLUICE_DATA", Path(__file__).parents[2] / "shared" / "data")) / "weights"
SHIPPED_NETWORKS = ("vehicle-type", "vehicle-type-compact", "street-kind")
FEW, CUTS, QUICK_CUTS = 4, (1, 2, 3, 4, 7, 14), (1, 4)
BATCHES, QUICK_BATCHES = (1, 8), (1,)
"""Networks that take one item at a time, and ``resnet50``, whose batches take a second, are run at batch 1 alone."""
BUDGET_S, QUICK_BUDGET_S = 4.0, 2.0
"""Processor seconds, per network, batch size and number of threads."""
LARGE_MS = 5.0
Times = tuple[float, float]
"""Processor and elapsed seconds."""
THREADS = sorted({1, len(os.sched_getaffinity(0))})


def measure(quick: bool) -> Outcome:
    """Rows: time whole and in segments, per network, batch size and number of cuts."""
    rows = [
        row
        for name, network in (_shipped() if quick else _all())
        for threads in THREADS
        for row in _rows(name, network, threads, quick)
    ]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures that the module's docstring explains."""
    found: dict[str, Any] = {}
    for threads, clock in product(sorted({row["threads"] for row in rows}), ("processor", "elapsed")):
        few = [row for row in rows if row["cut_points"] <= FEW and row["threads"] == threads]
        large = [row[f"{clock}_overhead"] for row in few if row["whole_ms"] >= LARGE_MS]
        overheads = [row[f"{clock}_overhead"] for row in few]
        found[f"{clock}_{threads}"] = {
            "median": round(median(overheads), 4),
            "worst": max(overheads),
            "median_of_large": round(median(large), 4) if large else None,
        }
    return found


def _all() -> Iterator[tuple[str, onnx.ModelProto]]:
    """The networks that ship, and those that the sample weights are for."""
    from tools.architectures.export import to_onnx
    from tools.architectures.registry import ARCHITECTURES, load_weights

    yield from _shipped()
    cifar = ARCHITECTURES["resnet18-cifar"]
    network = cifar.build(cifar.classes)
    load_weights(network, WEIGHTS / "resnet18_cifar10.safetensors")
    yield cifar.name, to_onnx(network, cifar.size)
    yield "yolox-nano", onnx.load(WEIGHTS / "yolox_nano.onnx")
    yield "resnet50", to_onnx(ARCHITECTURES["resnet50"].build(1000), 224)


def _shipped() -> Iterator[tuple[str, onnx.ModelProto]]:
    for name in SHIPPED_NETWORKS:
        yield name, onnx.load(Catalogue([SHIPPED]).find(name).path)


def _rows(name: str, network: onnx.ModelProto, threads: int, quick: bool) -> Iterator[Row]:
    chosen = _cuts(name, network, threads, QUICK_CUTS if quick else CUTS)
    engines = {count: _opened(name, split(network, cuts), threads) for count, cuts in {0: [], **chosen}.items()}
    single = network.graph.input[0].type.tensor_type.shape.dim[0].dim_value or name == "resnet50"
    for batch in QUICK_BATCHES if quick or single else BATCHES:
        items = np.random.default_rng(0).random((batch, *_sizes(engines[0])), np.float32)
        runs = {count: partial(_timed, engine, items) for count, engine in engines.items()}
        budget_s = QUICK_BUDGET_S if quick else BUDGET_S
        seconds = take_turns(runs, budget_s, random.Random(0), time.process_time)
        yield from ({"network": name, "threads": threads, "batch": batch, **_row(seconds, count)} for count in chosen)
    for engine in engines.values():
        engine.close()


def _cuts(name: str, network: onnx.ModelProto, threads: int, counts: Sequence[int]) -> dict[int, list[str]]:
    """By their number, cut points that part the network's latency evenly."""
    points = [point.tensor for point in cut_points(network)]
    until = list(accumulate(segment_times(name, split(network, points), threads, 1.0)))
    shares = {point: seconds / until[-1] for point, seconds in zip(points, until, strict=False)}
    return {count: evenly(shares, count) for count in counts if count <= len(points)}


def _row(seconds: Mapping[int, Sequence[Times]], count: int) -> Row:
    processor, elapsed = (
        [parts[clock] / whole[clock] for parts, whole in zip(seconds[count], seconds[0], strict=True)]
        for clock in range(2)
    )
    return {
        "cut_points": count,
        "whole_ms": round(median(spent for spent, _ in seconds[0]) * 1e3, 3),
        "segments_ms": round(median(spent for spent, _ in seconds[count]) * 1e3, 3),
        "processor_overhead": round(median(processor) - 1, 4),
        "elapsed_overhead": round(median(elapsed) - 1, 4),
        "rounds": len(processor),
    }


def evenly(shares: Mapping[str, float], count: int) -> list[str]:
    """So many cut points, in dataflow order, that part the latency into about equal pieces."""
    left = dict(shares)
    for goal in (index / (count + 1) for index in range(1, count + 1)):
        left.pop(min(left, key=lambda point: abs(left[point] - goal)))
    return [point for point in shares if point not in left]


def _opened(name: str, segments: Sequence[onnx.ModelProto], threads: int) -> OnnxRuntimeEngine:
    engine = OnnxRuntimeEngine(name, threads=threads)
    engine.load([segment.SerializeToString() for segment in segments])
    return engine


def _sizes(engine: OnnxRuntimeEngine) -> tuple[int, ...]:
    return tuple(dim for dim in engine.inputs[0].shape[1:] if dim is not None)


def _timed(engine: OnnxRuntimeEngine, batch: Array) -> Times:
    spent, started = time.process_time(), time.perf_counter()
    for segment in range(len(engine.inputs)):
        batch = engine.run(segment, batch)[0]
    return time.process_time() - spent, time.perf_counter() - started


def _draw(rows: Sequence[Row], figure: Any) -> None:
    for axes, threads in zip(figure.subplots(1, len(THREADS), sharey=True, squeeze=False)[0], THREADS, strict=True):
        for name, batch in dict.fromkeys((row["network"], row["batch"]) for row in rows):
            mine = [row for row in rows if (row["network"], row["batch"], row["threads"]) == (name, batch, threads)]
            overheads = [100 * row["processor_overhead"] for row in mine]
            style = "-o" if batch == 1 else "--s"
            axes.plot([row["cut_points"] for row in mine], overheads, style, label=f"{name}, batch {batch}")
        axes.axhline(3, color="grey", linewidth=0.8)
        axes.set(
            xlabel="cut points",
            ylabel="overhead in processor time, %",
            title=f"no exit taken, {threads} threads",
            yscale="symlog",
        )
    axes.legend(fontsize=7)


if __name__ == "__main__":
    run("segments", measure, __doc__ or "")
