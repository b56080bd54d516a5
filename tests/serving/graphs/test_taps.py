"""Taps are the activations at a cut, pooled to a grid that is small."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import CutPoint
from serving.graphs.segments import split
from serving.graphs.taps import MOST_VALUES, tap_grid, tapped
from tests.serving.engines.cut_rows import items, network, points


@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ((None, 64, 24, 24), (64, 4, 4)),
        ((None, 256, 6, 6), (256, 2, 2)),
        ((None, 512, 3, 3), (512, 1, 1)),
        ((None, 100, 3, 3), (100, 3, 3)),
        ((None, 512), (512, 1, 1)),
        ((None, MOST_VALUES + 1), None),
        ((None, 64, None, 24), None),
        ((None, 16, 7), None),
    ],
)
def test_a_tap_is_small(shape: tuple[int | None, ...], grid: tuple[int, int, int] | None) -> None:
    assert tap_grid(CutPoint("here", shape, 1, 0.5)) == grid


def test_a_tap_is_the_activations_pooled_to_the_grid() -> None:
    batch, point = items()[:2], points()[0]
    engine = OnnxRuntimeEngine("kind", threads=1)
    engine.load([split(network(), [point.tensor])[0].SerializeToString()])
    (activation,) = engine.run(0, batch)
    engine.close()
    engine = OnnxRuntimeEngine("kind", threads=1)
    engine.load([tapped(network(), [point])[0].SerializeToString()])
    _, found = engine.run(0, batch)
    engine.close()
    grid = tap_grid(point)
    assert grid is not None
    channels, rows, columns = grid
    blocks = activation.reshape(2, channels, rows, activation.shape[2] // rows, columns, -1)
    np.testing.assert_allclose(found, blocks.mean(axis=(3, 5)).reshape(2, -1), rtol=1e-4, atol=1e-5)


def test_a_tap_of_numbers_of_another_kind_is_told_in_float32() -> None:
    half = helper.make_graph(
        [helper.make_node("Neg", ["images"], ["less"]), helper.make_node("GlobalAveragePool", ["less"], ["end"])],
        "half",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT16, ["N", 3, 4, 4])],
        [helper.make_tensor_value_info("end", TensorProto.FLOAT16, ["N", 3, 1, 1])],
    )
    model = helper.make_model(half, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    engine = OnnxRuntimeEngine("half", threads=1)
    engine.load([tapped(model, [CutPoint("less", (None, 3, 4, 4), 1, 0.5)])[0].SerializeToString()])
    less, tap = engine.run(0, np.ones((2, 3, 4, 4), np.float16))
    engine.close()
    assert (less.dtype, tap.dtype, tap.shape) == (np.float16, np.float32, (2, 48))
    assert (tap == -1).all()
