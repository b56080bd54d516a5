"""Learned caches inside ResNet-18 on CIFAR-10 test images, against the network in int8 (GATI, §7.1).

Caches are explored, composed and calibrated on images of one half of the test set, and everything is measured on
images of the other half: agreement in batches, processor time of single items on one thread, by turns in random order.
Targets are the share of all images that must get the network's answer, as in the paper. Fewer cut points, forms and
images are used than could be, so that it ends within minutes on a machine that others use as well.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from statistics import mean, quantiles
from typing import Any

import cv2
import numpy as np
import onnx

from benchmarks.harness import Outcome, Row, run
from benchmarks.segments import WEIGHTS
from cache_adapt.caches.build import Network, build
from cache_adapt.caches.explore import Cut, Wanted, explore, problem
from cache_adapt.caches.job import lookup_s
from cache_adapt.caches.training import Lessons
from cache_adapt.compose.rivals import Variant, planned
from cache_adapt.exits.certify import Constraint, upper_bound
from pipelines.measure.tapped_pictures import cut_costs, forward_tapped
from serving.common.softmax import softmax
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import Answering, ExitOutputs, Exits
from serving.engines.network import EngineNetwork
from serving.engines.network import Network as Runs
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.quantise import quantised
from serving.graphs.segments import cut_points, split
from serving.graphs.taps import tap_grid, tapped
from serving.profiling.segment_times import segment_times

NAME = "resnet18-cifar"
TARGETS = (0.97, 0.99)
SHARES = (0.25, 0.45, 0.65, 0.85)
"""Cut points that are explored lie nearest to these shares of the work."""
ARCHITECTURES = ("FC(64)",)
CALIBRATION, HELD_OUT, TIMED, COMPARED = 1600, 1200, 120, 600
QUICK = 200
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)

Way = tuple[str, float]
"""How the network is run, and the target."""


@dataclass(frozen=True)
class Case:
    """The network and its images, prepared."""

    model: onnx.ModelProto
    learnt: Array
    unseen: Array


def measure(quick: bool) -> Outcome:
    """The network whole, in int8, and with caches for each target."""
    case = _case(QUICK if quick else CALIBRATION, QUICK if quick else HELD_OUT)
    whole = _opened(case.model, "fp32")
    int8 = _opened(quantised(NAME, case.model, case.learnt[:100]), "int8")
    answers = _answers(whole, case.unseen)
    ways: dict[Way, Runs] = {("whole", 1.0): whole, ("int8", 1.0): int8}
    compared = case.learnt[-COMPARED:]
    agreement = float((_answers(int8, compared) == _answers(whole, compared)).mean())
    plans = {}
    for target, caches, plan in _built(case, agreement, _ratio(int8, whole, case.learnt)):
        plans[target] = plan
        if caches is not None:
            ways["caches", target] = caches
    seconds = _turns(
        {way: network.run for way, network in ways.items()}, case.unseen[: QUICK // 10 if quick else TIMED]
    )
    rows = [_row(way, ways[way], seconds, case.unseen, answers, plans) for way in ways]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """Processor time of the whole network over that with caches, agreement by target, and the same of int8."""
    cached = {str(round(100 * row["target"])): row for row in rows if row["way"] == "caches"}
    found = {key: {at: row[key] for at, row in cached.items()} for key in ("speedup", "agreement")}
    (int8,) = (row for row in rows if row["way"] == "int8")
    return {**found, "int8": {"speedup": int8["speedup"], "agreement": int8["agreement"]}}


def network() -> onnx.ModelProto:
    """ResNet-18 for CIFAR-10."""
    from serving.architectures.export import to_onnx
    from serving.architectures.registry import ARCHITECTURES as KNOWN
    from serving.architectures.registry import load_weights

    made = KNOWN[NAME].build(KNOWN[NAME].classes)
    load_weights(made, WEIGHTS / "resnet18_cifar10.safetensors")
    return to_onnx(made, KNOWN[NAME].size)


def archive() -> tuple[list[Array], Array]:
    """The JPEGs of all test images, and their labels."""
    with np.load(WEIGHTS.parent / "images" / "cifar10_jpeg_test.npz") as found:
        jpeg, offsets, labels = found["jpeg"], found["offsets"], found["labels"]
    return [jpeg[slice(*place)] for place in pairwise(offsets)], labels


def decoded(jpegs: Sequence[Array]) -> Array:
    """As the network takes them."""
    images = np.stack([np.asarray(cv2.imdecode(jpeg, 1))[..., ::-1] for jpeg in jpegs])
    return ((images / 255 - MEAN) / STD).transpose(0, 3, 1, 2).astype(np.float32)


def _case(learnt: int, unseen: int) -> Case:
    jpegs, _ = archive()
    order = np.random.default_rng(0).permutation(len(jpegs))
    half = len(order) // 2
    items = decoded([jpegs[at] for at in (*order[:learnt], *order[half : half + unseen])])
    return Case(network(), items[:learnt], items[learnt:])


def _built(case: Case, int8: float, ratio: float) -> Iterator[tuple[float, ExitNetwork | None, str]]:
    """For each target: the network with the best caches, or None, and what composition would run."""
    cuts, whole_s = _cuts(case)
    for target in TARGETS:
        wanted = Wanted(Constraint(target), ARCHITECTURES)
        explored = list(explore(cuts, wanted, lookup_s))
        whole = problem(cuts, whole_s, explored, wanted)
        least = 1 - upper_bound(round((1 - int8) * COMPARED), COMPARED)
        quick = type(whole)([seconds * ratio for seconds in whole.layers], (), target)
        plan = planned([Variant("whole", 1.0, whole), Variant("int8", least, quick)])
        made = build(Network(NAME, "0" * 64, whole_s), cuts, explored, wanted).caches
        if made is None:
            yield target, None, plan.variant
            continue
        points = {point.tensor: point for point in cut_points(case.model)}
        exits = Exits(made.tensors)
        segments = tapped(case.model, [points[tensor] for tensor in made.tensors])
        network = ExitNetwork(NAME, segments, exits, OnnxRuntimeEngine(NAME, threads=1))
        exits.exchange(Answering({cache.tensor: cache for cache in made.caches}, made.card.classes, 1))
        yield target, network, plan.variant + ("+caches" if plan.choice else "")


def _cuts(case: Case) -> tuple[list[Cut], float]:
    points = [point for point in cut_points(case.model) if tap_grid(point)]
    nearest = {min(range(len(points)), key=lambda at: abs(points[at].share - share)) for share in SHARES}
    chosen = [points[at] for at in sorted(nearest)]
    pieces = split(case.model, [point.tensor for point in chosen])
    seconds = segment_times(NAME, pieces, 1, 4.0, time.process_time)
    whole_s, cut_s = cut_costs(NAME, case.model, chosen, case.learnt[:1])
    taps, scores = forward_tapped(NAME, case.model, chosen, case.learnt, lambda what, share: None)
    shares = softmax(scores)
    until = [each * whole_s / sum(seconds) for each in accumulate(seconds)]
    lessons = [
        Lessons(tap, tap_grid(point) or (1, 1, 1), shares.argmax(axis=1), shares, shares.shape[1])
        for point, tap in zip(chosen, taps, strict=True)
    ]
    made = [Cut(p.tensor, at, cut_s, each) for p, at, each in zip(chosen, until, lessons, strict=False)]
    return made, whole_s


def _opened(model: onnx.ModelProto, precision: Any) -> EngineNetwork:
    return EngineNetwork(NAME, model, OnnxRuntimeEngine(NAME, threads=1, precision=precision))


def _answers(network: Runs, items: Array) -> Array:
    """The answer to each item; of a network with caches, whoever gave it."""
    found = []
    for start in range(0, len(items), 16):
        outputs = network.run(items[start : start + 16])
        scores = outputs[0]
        if len(outputs) > 1:
            exits = ExitOutputs.of(outputs)
            scores = np.where((exits.place < len(exits.taps))[:, None], exits.distribution, scores)
        found.append(scores.argmax(axis=1))
    return np.concatenate(found)


def _ratio(one: Runs, other: Runs, items: Array) -> float:
    took = _turns({("one", 0.0): one.run, ("other", 0.0): other.run}, items[:60])
    return mean(took["one", 0.0]) / mean(took["other", 0.0])


def _turns(runs: Mapping[tuple[str, float], Callable[[Array], object]], items: Array) -> dict[Way, list[float]]:
    """Processor seconds of every run for each item."""
    order = random.Random(0)
    found: dict[Way, list[float]] = {way: [] for way in runs}
    for at in range(len(items)):
        for way in order.sample(list(runs), len(runs)):
            started = time.process_time()
            runs[way](items[at : at + 1])
            found[way].append(time.process_time() - started)
    return found


def _row(
    way: Way,
    network: Runs,
    seconds: Mapping[Way, Sequence[float]],
    items: Array,
    answers: Array,
    plans: Mapping[float, str],
) -> Row:
    mine, whole = seconds[way], seconds["whole", 1.0]
    tail = quantiles(mine, n=100)
    return {
        "network": NAME,
        "way": way[0],
        "target": way[1],
        "items": len(items),
        "agreement": round(float((_answers(network, items) == answers).mean()), 4),
        "processor_ms": round(1e3 * mean(mine), 3),
        "p50_ms": round(1e3 * tail[49], 3),
        "p95_ms": round(1e3 * tail[94], 3),
        "speedup": round(mean(whole) / mean(mine), 3),
        "composition_runs": plans.get(way[1], ""),
    }


def _draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    for row in rows:
        label = row["way"] if row["way"] != "caches" else f"caches, target {row['target']:g}"
        axes.scatter([row["processor_ms"]], [row["agreement"]], label=label)
        axes.plot([row["p50_ms"], row["p95_ms"]], [row["agreement"]] * 2, linewidth=0.8)
    axes.set(xlabel="processor time of one image, ms (mean; line: median to p95)", ylabel="agreement, other half")
    axes.grid(alpha=0.3)
    axes.legend()


if __name__ == "__main__":
    run("caches_images", measure, __doc__ or "")
