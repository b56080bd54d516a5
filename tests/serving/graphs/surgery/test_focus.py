"""One convolution in place of slices: the same numbers, and nothing else is touched."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import onnx
import pytest

from serving.graphs.surgery.layers import without_slices
from serving.graphs.surgery.parts import attributes
from tests.serving.graphs.onnx_graphs import run
from tests.serving.graphs.surgery.detectors import END, Sketch, detector

PICTURE = np.random.default_rng(1).normal(0, 1, (1, 3, 96, 96)).astype(np.float32)
QUARTERS = ((0, 0), (1, 0), (0, 1), (1, 1))


def kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def assert_same(model: onnx.ModelProto, changed: onnx.ModelProto) -> None:
    onnx.checker.check_model(changed)
    np.testing.assert_allclose(run(model, PICTURE), run(changed, PICTURE), atol=1e-5)


def copied(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


@pytest.mark.parametrize("order", list(permutations(QUARTERS))[::5])
@pytest.mark.parametrize("options", [{}, {"strides": [2, 2]}, {"pads": [0, 1, 2, 0]}])
def test_slices_in_any_order_become_one_convolution(
    order: tuple[tuple[int, int], ...], options: dict[str, list[int]]
) -> None:
    net = Sketch()
    model = net.model(net.conv(net.focus("images", order), (12, 8), **options))
    changed = copied(model)
    assert without_slices(changed) == 1
    assert kinds(changed) == ["Conv", "Sigmoid", "Mul"]
    assert attributes(changed.graph.node[0])["kernel_shape"] == [6, 6]
    assert_same(model, changed)


def test_blocks_that_an_operator_takes_apart_are_known_too() -> None:
    net = Sketch()
    model = net.model(net.conv(net.node("SpaceToDepth", "images", blocksize=2), (12, 8)))
    changed = copied(model)
    assert without_slices(changed) == 1
    assert kinds(changed) == ["Conv", "Sigmoid", "Mul"]
    assert_same(model, changed)


def test_one_slice_may_cut_across_and_down() -> None:
    net = Sketch()
    ends, axes, steps = net.weight([END, END]), net.weight([-1, -2]), net.weight([2, 2])
    quarters = [net.node("Slice", "images", net.weight([column, row]), ends, axes, steps) for row, column in QUARTERS]
    model = net.model(net.conv(net.node("Concat", *quarters, axis=1), (12, 8)))
    changed = copied(model)
    assert without_slices(changed) == 1
    assert_same(model, changed)


@pytest.mark.parametrize(
    "order",
    [((0, 0), (1, 0), (0, 1), (0, 1)), ((0, 0), (1, 0), (0, 1)), ((0, 0), (0, 0), (0, 0), (0, 0))],
    ids=["one twice", "three", "one four times"],
)
def test_other_slices_stay(order: tuple[tuple[int, int], ...]) -> None:
    net = Sketch()
    model = net.model(net.conv(net.focus("images", order), (3 * len(order), 8)))
    before = model.SerializeToString()
    assert without_slices(model) == 0
    assert model.SerializeToString() == before


@pytest.mark.parametrize("options", [{"dilations": [2, 2], "pads": [2] * 4}, {"group": 4}])
def test_other_convolutions_stay(options: dict[str, object]) -> None:
    net = Sketch()
    net.weights["own"] = np.ones((8, 12 // int(str(options.get("group", 1))), 3, 3), np.float32)
    output = net.node("Conv", net.focus("images"), "own", **options)
    assert without_slices(net.model(output)) == 0


def test_slices_that_somebody_else_reads_stay() -> None:
    net = Sketch()
    focus = net.focus("images")
    model = net.model(net.node("Concat", net.conv(focus, (12, 8)), focus, axis=1))
    assert without_slices(model) == 0


def test_slices_that_end_before_the_picture_does_stay() -> None:
    net = Sketch()
    ends, axes, steps = net.weight([90, 90]), net.weight([2, 3]), net.weight([2, 2])
    quarters = [net.node("Slice", "images", net.weight([row, column]), ends, axes, steps) for row, column in QUARTERS]
    assert without_slices(net.model(net.conv(net.node("Concat", *quarters, axis=1), (12, 8)))) == 0


def test_a_whole_detector_says_the_same() -> None:
    model = detector()
    changed = copied(model)
    assert without_slices(changed) == 1
    assert "Slice" not in kinds(changed)
    assert_same(model, changed)
