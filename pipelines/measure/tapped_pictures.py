"""What caches are built from: pictures that went through a network once, with a tap at every cut point."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from random import Random

import numpy as np
import onnx

from cache_adapt.caches.explore import Cut
from cache_adapt.caches.training import Lessons
from operators.recognise.classifier import probabilities
from pipelines.measure.template_data import Shown
from serving.catalogue.graph_file import read_weights
from serving.catalogue.lookup import Entry, verify
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitOutputs, Exits
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import BadInput, ModelError
from serving.graphs.segments import CutPoint, cut_points, split
from serving.graphs.shapes import with_item_size
from serving.graphs.taps import tap_grid, tapped
from serving.preprocess import batch as prepare
from serving.profiling.segment_times import segment_times
from serving.profiling.timing import median, take_turns

BATCH, LEAST, MOST = 16, 100, 6000
BUDGET_S = 4.0
"""Seconds for each thing that is timed."""
TRIED_CUTS = 2
"""Cuts by which the cost of one is measured."""

OnProgress = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, 0 … 1."""


@dataclass(frozen=True)
class Tapped:
    """A network, measured here and now in processor seconds of one item on one thread."""

    cuts: Sequence[Cut]
    whole_s: float
    items: Array
    """The prepared pictures."""
    answers: Array
    """What the network says of each: the index of its class."""


def graph_of(entry: Entry) -> onnx.ModelProto:
    """A model's graph, with the input's size of its card; ModelError where it is damaged or no classifier."""
    if entry.card.task != "classify":
        raise ModelError(f"model {entry.card.name!r} is made to {entry.card.task}: caches answer classes")
    verify(entry)
    return with_item_size(read_weights(entry.path, entry.card), entry.card.input.item_shape)


def tapped_pictures(entry: Entry, shown: Shown, report: OnProgress) -> Tapped:
    """Run the pictures through; raises ModelError for a network that cannot be cut, BadInput for too few pictures."""
    network, card = graph_of(entry), entry.card
    points = [point for point in cut_points(network) if tap_grid(point)]
    if not points:
        raise ModelError(f"model {card.name!r} cannot be cut anywhere")
    items = _items(entry, shown, report)
    report("latency", 0.0)
    seconds = segment_times(card.name, split(network, [p.tensor for p in points]), 1, BUDGET_S, time.process_time)
    whole_s, cut_s = cut_costs(card.name, network, points, items[:1])
    scale = whole_s / sum(seconds)
    taps, scores = forward_tapped(card.name, network, points, items, report)
    shares = probabilities(card, scores)
    answers = shares.argmax(axis=1)
    cuts = [
        Cut(
            point.tensor,
            until * scale,
            cut_s,
            Lessons(tap, tap_grid(point) or (1, 1, 1), answers, shares, len(card.classes)),
        )
        for point, until, tap in zip(points, accumulate(seconds), taps, strict=False)
    ]
    return Tapped(cuts, whole_s, items, answers)


def item_s(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median processor seconds of each run, in turns."""
    timed = {name: partial(_timed, run) for name, run in runs.items()}
    return {name: median(found) for name, found in take_turns(timed, BUDGET_S, Random(0), time.perf_counter).items()}


def _items(entry: Entry, shown: Shown, report: OnProgress) -> Array:
    items = []
    for number, image in enumerate(islice(shown, MOST)):
        items.append(prepare(entry.card.input, [image])[0])
        report("pictures", number / min(len(shown), MOST))
    if len(items) < LEAST:
        raise BadInput(f"{shown.words}: caches need {LEAST} pictures at least, and some thousands to be worth it")
    return np.concatenate(items)


def forward_tapped(
    name: str, network: onnx.ModelProto, points: Sequence[CutPoint], items: Array, report: OnProgress
) -> tuple[list[Array], Array]:
    """The taps of all items, point by point (N × values each), and the network's scores."""
    exits = Exits([point.tensor for point in points])
    opened = ExitNetwork(name, tapped(network, points), exits, OnnxRuntimeEngine(name, threads=1))
    step = 1 if opened.batch_limit == 1 else BATCH
    found = []
    for start in range(0, len(items), step):
        found.append(ExitOutputs.of(opened.run(items[start : start + step])))
        report("forward", start / len(items))
    opened.close()
    taps = [np.concatenate([each.taps[index] for each in found]).astype(np.float16) for index in range(len(points))]
    return taps, np.concatenate([each.scores for each in found])


def cut_costs(name: str, network: onnx.ModelProto, points: Sequence[CutPoint], item: Array) -> tuple[float, float]:
    """Processor seconds of the whole network, and of a cut with its tap."""
    count = min(TRIED_CUTS, len(points))
    chosen = [points[(index + 1) * len(points) // (count + 1)] for index in range(count)]
    whole = EngineNetwork(name, network, OnnxRuntimeEngine(name, threads=1))
    exits = Exits([point.tensor for point in chosen])
    cut = ExitNetwork(name, tapped(network, chosen), exits, OnnxRuntimeEngine(name, threads=1))
    took = item_s({"whole": partial(whole.run, item), "cut": partial(cut.run, item)})
    whole.close()
    cut.close()
    return took["whole"], max((took["cut"] - took["whole"]) / count, 1e-5)


def _timed(run: Callable[[], object]) -> float:
    started_s = time.process_time()
    run()
    return time.process_time() - started_s
