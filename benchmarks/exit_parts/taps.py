"""Runs pictures through a network with cuts to its end, and times what that costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import numpy as np
import onnx

from benchmarks.harness import interleaved
from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitResult
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.taps import tap_points, tapped

STEP = 16
TIMED = 60
TRIED_CUTS = 2
"""Cuts by which the cost of one is measured."""


def through(
    name: str, model: onnx.ModelProto, cuts: Sequence[str], items: Array, precision: Precision = "fp32"
) -> tuple[list[Array], Array]:
    """The taps of N items at each of these cut tensors (N × values), and the network's scores."""
    opened = cut_network(name, model, cuts, precision)
    parts = [
        ExitResult.of(opened.run([GroupRequest(name, items[at : at + STEP])], STEP)[0])
        for at in range(0, len(items), STEP)
    ]
    opened.close()
    taps = [np.concatenate([each.taps[place] for each in parts]) for place in range(len(cuts))]
    return taps, np.concatenate([each.scores for each in parts])


def cut_network(name: str, model: onnx.ModelProto, cuts: Sequence[str], precision: Precision = "fp32") -> ExitNetwork:
    """Open a network that is cut at these tensors, on one thread."""
    engine = OnnxRuntimeEngine(name, threads=1, precision=precision)
    return ExitNetwork(name, tapped(model, tap_points(model, cuts)), cuts, engine)


def whole_network(name: str, model: onnx.ModelProto, precision: Precision = "fp32") -> EngineNetwork:
    """Open it without cuts, on one thread."""
    return EngineNetwork(name, model, OnnxRuntimeEngine(name, threads=1, precision=precision))


def item_s(name: str, model: onnx.ModelProto, item: Array) -> float:
    """Median processor seconds of the whole network for one item (1 × …)."""
    whole = whole_network(name, model)
    found = [_timed(partial(whole.run, item)) for _ in range(TIMED)]
    whole.close()
    return median(found)


def cut_costs(
    name: str, model: onnx.ModelProto, cuts: Sequence[str], item: Array, precision: Precision = "fp32"
) -> tuple[float, float]:
    """Processor seconds of the whole network for one item, and of a cut with its tap."""
    count = min(TRIED_CUTS, len(cuts))
    chosen = [cuts[(index + 1) * len(cuts) // (count + 1)] for index in range(count)]
    whole, cut = whole_network(name, model, precision), cut_network(name, model, chosen, precision)
    runs: dict[str, Callable[[], object]] = {
        "whole": partial(whole.run, item),
        "cut": partial(cut.run, [GroupRequest(name, item)], 1),
    }
    took = interleaved({each: partial(_timed, run) for each, run in runs.items()}, TIMED)
    whole.close()
    cut.close()
    whole_s, cut_s = (median(took[each]) for each in runs)
    return whole_s, max((cut_s - whole_s) / count, 1e-5)


def _timed(run: Callable[[], object]) -> float:
    started_s = time.process_time()
    run()
    return time.process_time() - started_s
