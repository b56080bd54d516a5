"""Quantised networks are cut where their float32 originals are, and stay quantised on both sides of a cut."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from serving.graphs.cut_points import all_cut_points, cut_points
from serving.graphs.prefix import common_prefix
from serving.graphs.segments import split
from tests.serving.graphs.support import most_different, network, run, run_segments, sample

BODY = """
    scale = Constant <value = float {SCALE}> ()
    zero = Constant <value = uint8 {128}> ()
    x_q = QuantizeLinear (x, scale, zero)
    x_r = DequantizeLinear (x_q, scale, zero)
    a = Conv (x_r, w1)
    b = Relu (a)
    b_q = QuantizeLinear (b, scale, zero)
    b_r = DequantizeLinear (b_q, scale, zero)
    c = Conv (b_r, w2)
    c_q = QuantizeLinear (c, scale, zero)
    y = DequantizeLinear (c_q, scale, zero)
"""


def net(scale: float = 0.05) -> onnx.ModelProto:
    body = BODY.replace("SCALE", str(scale))
    return network("(float[N,2,4,4] x) => (float[N,2,4,4] y)", body, w1=[2, 2, 1, 1], w2=[2, 2, 1, 1])


def test_cut_points_bear_the_names_they_have_in_the_original() -> None:
    assert [point.tensor for point in cut_points(net())] == ["b"]
    assert [point.tensor for point in all_cut_points(net())] == ["x_q", "x_r", "a", "b", "b_q", "b_r", "c", "c_q"]


def test_the_layer_before_a_cut_is_rounded_in_its_own_segment() -> None:
    first, last = split(net(), ["b"])
    assert [node.op_type for node in first.graph.node][-4:] == ["Conv", "Relu", "QuantizeLinear", "DequantizeLinear"]
    assert [value.name for value in first.graph.output] == ["b_r"]
    assert [node.op_type for node in last.graph.node if node.op_type != "Constant"] == [
        *["QuantizeLinear", "DequantizeLinear", "Conv"],
        *["QuantizeLinear", "DequantizeLinear"],
    ]


@pytest.mark.parametrize("cut", ["b", "b_q", "b_r"])
def test_rounding_twice_changes_nothing(cut: str) -> None:
    batch = sample(net(), items=5)
    whole = run(net(), batch)
    assert most_different(run_segments(split(net(), [cut]), batch), whole) <= 1e-5
    assert len(np.unique(whole[0])) > 10


def test_an_eight_bit_tensor_can_be_handed_over_too() -> None:
    _, last = split(net(), ["b_q"])
    assert last.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8


def test_a_tensor_that_somebody_reads_unrounded_is_handed_over_as_it_is() -> None:
    mixed = network(
        "(float[N,2,4,4] x) => (float[N,2,4,4] y)",
        BODY.replace("SCALE", "0.05").replace("c = Conv (b_r, w2)", "d = Add (b, b_r) c = Conv (d, w2)"),
        w1=[2, 2, 1, 1],
        w2=[2, 2, 1, 1],
    )
    first, _ = split(mixed, ["b"])
    assert [value.name for value in first.graph.output] == ["b"]


def test_networks_rounded_differently_share_nothing_behind_the_rounding() -> None:
    finer = network(
        "(float[N,2,4,4] x) => (float[N,2,4,4] y)",
        "fine = Constant <value = float {0.01}> ()"
        + BODY.replace("SCALE", "0.05").replace("(b, scale", "(b, fine").replace("(b_q, scale", "(b_q, fine"),
        w1=[2, 2, 1, 1],
        w2=[2, 2, 1, 1],
    )
    assert common_prefix([net(), net()]) == ["b", "b"]
    assert common_prefix([net(), finer]) is None
