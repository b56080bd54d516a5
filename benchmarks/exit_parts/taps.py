"""Runs pictures through a network with cuts to its end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

import numpy as np
import onnx

from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitResult
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.taps import tap_points, tapped

STEP = 16
TIMED = 40


def through(name: str, model: onnx.ModelProto, cuts: Sequence[str], items: Array) -> tuple[list[Array], Array]:
    """The taps of N items at each of these cut tensors (N × values), and the network's scores."""
    opened = cut_network(name, model, cuts)
    parts = [
        ExitResult.of(opened.run([GroupRequest(name, items[at : at + STEP])], STEP)[0])
        for at in range(0, len(items), STEP)
    ]
    opened.close()
    taps = [np.concatenate([each.taps[place] for each in parts]) for place in range(len(cuts))]
    return taps, np.concatenate([each.scores for each in parts])


def cut_network(name: str, model: onnx.ModelProto, cuts: Sequence[str]) -> ExitNetwork:
    """Open a network that is cut at these tensors, on one thread."""
    return ExitNetwork(name, tapped(model, tap_points(model, cuts)), cuts, OnnxRuntimeEngine(name, threads=1))


def item_s(name: str, model: onnx.ModelProto, item: Array) -> float:
    """Median processor seconds of the whole network for one item (1 × …), on one thread."""
    whole = EngineNetwork(name, model, OnnxRuntimeEngine(name, threads=1))
    found = []
    for _ in range(TIMED):
        started_s = time.process_time()
        whole.run(item)
        found.append(time.process_time() - started_s)
    whole.close()
    return median(found)
