"""What a network with two exits costs where none is taken (target: at most 3 % for networks of 5 ms and more).

By turns, in random order, in the default engine: the network whole; in three segments whose activations are handed over
as new arrays; and as ``ExitNetwork`` runs it, in buffers that are kept, with the taps that exits read. The overhead is
the median over rounds of the time ÷ the whole's, less 1; of processor time, which other work on the machine disturbs
less, and of elapsed time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from statistics import median
from typing import Any

import numpy as np
import onnx

from benchmarks.harness import Outcome, Row, run
from benchmarks.recogniser_parts.dear import DEAR, MIDDLE, ready
from benchmarks.segments import THREADS, WEIGHTS, evenly
from serving.catalogue.lookup import Catalogue
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.groups import GroupRequest
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import cut_points
from serving.graphs.segments import split
from serving.graphs.taps import tap_grid, tapped
from serving.profiling.timing import segment_times

CUTS = 2
ROUNDS, QUICK_ROUNDS, UNCOUNTED = 120, 10, 5
WAYS = ("whole", "segments", "exits")

Times = Sequence[tuple[float, float]]
"""Processor and elapsed seconds of each round."""


def measure(quick: bool) -> Outcome:
    """A row for each network, number of threads and way."""
    networks = dict(_networks(quick))
    rows = [
        row for name, model in networks.items() for threads in THREADS for row in _rows(name, model, threads, quick)
    ]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """Overhead of two exits in processor time, by number of threads: the middle of the networks, and the worst."""
    found: dict[str, Any] = {}
    for threads in sorted({row["threads"] for row in rows}):
        mine = [row["processor_overhead"] for row in rows if (row["way"], row["threads"]) == ("exits", threads)]
        found |= {f"overhead_{threads}": round(median(mine), 4), f"worst_{threads}": max(mine)}
    return found


def _networks(quick: bool) -> Iterator[tuple[str, onnx.ModelProto]]:
    from tools.architectures.export import to_onnx
    from tools.architectures.registry import ARCHITECTURES, load_weights

    known = Catalogue([ready(MIDDLE, DEAR)])
    for recipe in (MIDDLE,) if quick else (MIDDLE, DEAR):
        yield recipe.name, onnx.load(known.find(recipe.name).path)
    if quick:
        return
    cifar = ARCHITECTURES["resnet18-cifar"]
    network = cifar.build(cifar.classes)
    load_weights(network, WEIGHTS / "resnet18_cifar10.safetensors")
    yield cifar.name, to_onnx(network, cifar.size)
    for name in ("mobilenet-v2", "resnet50"):
        yield name, to_onnx(ARCHITECTURES[name].build(1000), 224)


def _rows(name: str, model: onnx.ModelProto, threads: int, quick: bool) -> Iterator[Row]:
    points = {point.tensor: point for point in cut_points(model) if tap_grid(point)}
    until = list(accumulate(segment_times(name, split(model, list(points)), threads, 1.0)))
    cuts = evenly({cut: seconds / until[-1] for cut, seconds in zip(points, until, strict=False)}, CUTS)
    whole, parts = (_opened(name, split(model, at), threads) for at in ([], cuts))
    engine = OnnxRuntimeEngine(name, threads=threads)
    exits = ExitNetwork(name, tapped(model, [points[cut] for cut in cuts]), cuts, engine)
    size = [dim or 1 for dim in whole.inputs[0].shape[1:]]
    item = np.random.default_rng(0).random((1, *size), np.float32)
    runs = {"whole": partial(_chained, whole, item), "segments": partial(_chained, parts, item)}
    found = _turns(
        {**runs, "exits": partial(exits.run, [GroupRequest(name, item)], 1)}, QUICK_ROUNDS if quick else ROUNDS
    )
    for each in (whole, parts, engine):
        each.close()
    for way in WAYS:
        yield {"network": name, "threads": threads, "cut_points": CUTS, "way": way, **_figures(found, way)}


def _opened(name: str, segments: Sequence[onnx.ModelProto], threads: int) -> OnnxRuntimeEngine:
    engine = OnnxRuntimeEngine(name, threads=threads)
    engine.load([segment.SerializeToString() for segment in segments])
    return engine


def _chained(engine: OnnxRuntimeEngine, batch: Array) -> object:
    for segment in range(len(engine.inputs)):
        batch = engine.run(segment, batch)[0]
    return batch


def _turns(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    order = random.Random(0)
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in runs}
    for _ in range(rounds + UNCOUNTED):
        for way in order.sample(list(runs), len(runs)):
            processor, elapsed = time.process_time(), time.perf_counter()
            runs[way]()
            found[way].append((time.process_time() - processor, time.perf_counter() - elapsed))
    return {way: times[UNCOUNTED:] for way, times in found.items()}


def _figures(found: Mapping[str, Times], way: str) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for index, kind in enumerate(("processor", "elapsed")):
        mine, whole = ([times[index] for times in found[each]] for each in (way, "whole"))
        ratio = median(one / other for one, other in zip(mine, whole, strict=True))
        figures |= {f"{kind}_ms": round(1e3 * median(mine), 3), f"{kind}_overhead": round(ratio - 1, 4)}
    return {**figures, "rounds": len(found[way])}


def _draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    shown = [row for row in rows if row["way"] != "whole"]
    names = [f"{row['network']}, {row['threads']}: {row['way']}" for row in shown]
    colours = ["tab:green" if row["way"] == "exits" else "tab:grey" for row in shown]
    axes.barh(names, [100 * row["processor_overhead"] for row in shown], color=colours)
    axes.axvline(3, color="black", linewidth=0.8)
    axes.set(xlabel="processor time over the whole network's, %", title="two cuts, no exit taken, batch 1")
    axes.invert_yaxis()


if __name__ == "__main__":
    run("exits", measure, __doc__ or "")
