"""Runs pictures through a network with cuts to its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitResult
from serving.engines.groups import GroupRequest
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.taps import tapped

STEP = 16


def through(name: str, model: onnx.ModelProto, points: Sequence[CutPoint], items: Array) -> tuple[list[Array], Array]:
    """The taps of N items at each of these points (N × values, float16), and the network's scores."""
    opened = cut(name, model, points)
    parts = [
        ExitResult.of(opened.run([GroupRequest(name, items[at : at + STEP])], STEP)[0])
        for at in range(0, len(items), STEP)
    ]
    opened.close()
    taps = [np.concatenate([each.taps[place] for each in parts]).astype(np.float16) for place in range(len(points))]
    return taps, np.concatenate([each.scores for each in parts])


def cut(name: str, model: onnx.ModelProto, points: Sequence[CutPoint], threads: int = 1) -> ExitNetwork:
    """Open a network that is cut at these points."""
    engine = OnnxRuntimeEngine(name, threads=threads)
    return ExitNetwork(name, tapped(model, points), [point.tensor for point in points], engine)


def points_at(model: onnx.ModelProto, tensors: Sequence[str]) -> list[CutPoint]:
    """The cut points of these tensors."""
    known = {point.tensor: point for point in cut_points(model)}
    return [known[tensor] for tensor in tensors]
