"""Pools in a row: the same numbers to the last bit."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import onnx
import pytest

from serving.graphs.surgery.layers import in_a_row
from serving.graphs.surgery.parts import attributes
from tests.serving.graphs.onnx_graphs import run
from tests.serving.graphs.surgery.detectors import Sketch

PICTURE = np.random.default_rng(1).normal(0, 1, (1, 3, 20, 28)).astype(np.float32)
SHAPE = (1, 3, 20, 28)


@pytest.mark.parametrize("sides", list(permutations((5, 9, 13))))
def test_pools_go_on_from_each_other(sides: tuple[int, ...]) -> None:
    net = Sketch()
    model = net.model(net.pools("images", sides), SHAPE)
    before = run(model, PICTURE)
    assert in_a_row(model) == 2
    onnx.checker.check_model(model)
    windows = [attributes(node)["kernel_shape"] for node in model.graph.node if node.op_type == "MaxPool"]
    assert windows == [[5, 5], [5, 5], [5, 5]]
    assert (run(model, PICTURE) == before).all()


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_shape": [4, 4], "pads": [2, 2, 1, 1]},
        {"kernel_shape": [9, 5], "pads": [4, 2, 4, 2]},
        {"kernel_shape": [9, 9], "pads": [0] * 4},
        {"kernel_shape": [9, 9], "pads": [4] * 4, "strides": [2, 2]},
        {"kernel_shape": [5, 5], "pads": [4] * 4, "dilations": [2, 2]},
        {"kernel_shape": [5, 5], "pads": [2] * 4},
    ],
    ids=["even", "oblong", "no padding", "stride", "holes", "the same window"],
)
def test_other_pools_stay(options: dict[str, Any]) -> None:
    net = Sketch()
    first = net.node("MaxPool", "images", kernel_shape=[5, 5], pads=[2] * 4)
    other = net.node("MaxPool", "images", **options)
    means = [net.node("GlobalAveragePool", each) for each in (first, other)]
    model = net.model(net.node("Concat", *means, axis=1), SHAPE)
    before = model.SerializeToString()
    assert in_a_row(model) == 0
    assert model.SerializeToString() == before
