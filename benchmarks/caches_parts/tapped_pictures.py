"""Pictures that went through a network once, with a tap at every cut point: what caches are built from."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random

import numpy as np
import onnx

from benchmarks.caches_parts.explore import Cut
from benchmarks.caches_parts.training import Lessons
from cache_adapt.learned.vocabulary import Vocabulary
from operators.recognise.classifier import probabilities
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Entry, read_weights
from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitResult
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.segments import split
from serving.graphs.shapes import with_item_size
from serving.graphs.taps import tap_grid, tapped
from serving.profiling.timing import median, segment_times, take_turns

BATCH = 16
BUDGET_S = 4.0
"""Seconds for each thing that is timed."""
TRIED_CUTS = 2
"""Cuts by which the cost of one is measured."""


@dataclass(frozen=True)
class CuttableNetwork:
    """A network that may be cut, as ONNX Runtime runs it."""

    card: ModelCard
    graph: onnx.ModelProto
    precision: Precision

    @property
    def points(self) -> list[CutPoint]:
        return [point for point in cut_points(self.graph) if tap_grid(point)]


@dataclass(frozen=True)
class Tapped:
    """A network, measured here and now in processor seconds of one item on one thread."""

    cuts: Sequence[Cut]
    whole_s: float


def built_whole(entry: Entry, path: Path, precision: Precision) -> CuttableNetwork:
    """A variant that was built from a model, with the input's size of its card."""
    graph = with_item_size(read_weights(path, entry.card), entry.card.input.item_shape)
    return CuttableNetwork(entry.card, graph, precision)


def tapped_pictures(network: CuttableNetwork, items: Array) -> Tapped:
    """Run prepared pictures through."""
    name, points, precision = network.card.name, network.points, network.precision
    pieces = split(network.graph, [point.tensor for point in points])
    seconds = segment_times(name, pieces, 1, BUDGET_S, time.process_time, precision)
    whole_s, cut_s = cut_costs(name, network.graph, points, items[:1], precision)
    scale = whole_s / sum(seconds)
    taps, scores = forward_tapped(name, network.graph, points, items, precision)
    card, shares = network.card, probabilities(network.card, scores)
    nameless = tuple(number for number, name in enumerate(card.classes) if name == card.other_label)
    vocabulary = Vocabulary(len(card.classes), card.min_confidence, nameless)
    cuts = [
        Cut(
            point.tensor,
            until * scale,
            cut_s,
            Lessons.of(tap, tap_grid(point) or (1, 1, 1), shares, vocabulary),
        )
        for point, until, tap in zip(points, accumulate(seconds), taps, strict=False)
    ]
    return Tapped(cuts, whole_s)


def item_s(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median processor seconds of each run, in turns."""
    timed = {name: partial(_timed, run) for name, run in runs.items()}
    return {name: median(found) for name, found in take_turns(timed, BUDGET_S, Random(0), time.perf_counter).items()}


def forward_tapped(
    name: str,
    network: onnx.ModelProto,
    points: Sequence[CutPoint],
    items: Array,
    precision: Precision = "fp32",
) -> tuple[list[Array], Array]:
    """The taps of all items, point by point (N × values each), and the network's scores."""
    opened = _cut(name, network, points, precision)
    step = 1 if opened.batch_limit == 1 else BATCH
    found = []
    for start in range(0, len(items), step):
        (outputs,) = opened.run([GroupRequest(name, items[start : start + step])], step)
        found.append(ExitResult.of(outputs))
    opened.close()
    taps = [np.concatenate([each.taps[index] for each in found]).astype(np.float16) for index in range(len(points))]
    return taps, np.concatenate([each.scores for each in found])


def cut_costs(
    name: str, network: onnx.ModelProto, points: Sequence[CutPoint], item: Array, precision: Precision = "fp32"
) -> tuple[float, float]:
    """Processor seconds of the whole network, and of a cut with its tap."""
    count = min(TRIED_CUTS, len(points))
    chosen = [points[(index + 1) * len(points) // (count + 1)] for index in range(count)]
    whole = EngineNetwork(name, network, OnnxRuntimeEngine(name, threads=1, precision=precision))
    cut = _cut(name, network, chosen, precision)
    took = item_s({"whole": partial(whole.run, item), "cut": partial(cut.run, [GroupRequest(name, item)], len(item))})
    whole.close()
    cut.close()
    return took["whole"], max((took["cut"] - took["whole"]) / count, 1e-5)


def _cut(name: str, network: onnx.ModelProto, points: Sequence[CutPoint], precision: Precision) -> ExitNetwork:
    engine = OnnxRuntimeEngine(name, threads=1, precision=precision)
    return ExitNetwork(name, tapped(network, points), [point.tensor for point in points], engine)


def _timed(run: Callable[[], object]) -> float:
    started_s = time.process_time()
    run()
    return time.process_time() - started_s
