from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from serving.errors import ModelError
from serving.graphs.cut_points import CutPoint, all_cut_points, cut_points
from serving.graphs.segments import split
from tests.serving.graphs.support import most_different, network, run, run_segments, sample

CHAIN = network(
    "(float[N,3,8,8] x) => (float[N,5] scores)",
    """
    a = Conv <pads = [1,1,1,1]> (x, w1)
    b = Relu (a)
    c = Conv <group = 2, strides = [2,2], kernel_shape = [2,2]> (b, w2)
    d = Sigmoid (c)
    e = Mul (c, d)
    f = GlobalAveragePool (e)
    g = Flatten (f)
    h = Gemm <transB = 1> (g, w3)
    scores = Softmax (h)
    """,
    w1=[4, 3, 3, 3],
    w2=[6, 2, 2, 2],
    w3=[5, 6],
)

RESIDUAL = network(
    "(float[N,4,6,6] x) => (float[N,4,6,6] y)",
    """
    a = Conv (x, w1)
    b = Relu (a)
    c = Conv (b, w2)
    d = Conv (b, w3)
    e = Add (c, d)
    f = Relu (e)
    y = Conv (f, w4)
    """,
    w1=[4, 4, 1, 1],
    w2=[4, 4, 1, 1],
    w3=[4, 4, 1, 1],
    w4=[4, 4, 1, 1],
)


def test_a_chain_is_cut_behind_every_layer_and_only_there() -> None:
    first, second = 4 * 64 * 27, 6 * 16 * 8
    total = first + second + 30
    assert cut_points(CHAIN) == [
        CutPoint("b", (None, 4, 8, 8), first, first / total),
        CutPoint("e", (None, 6, 4, 4), first + second, (first + second) / total),
        CutPoint("f", (None, 6, 1, 1), first + second, (first + second) / total),
    ]


def test_all_cut_points_are_the_cut_vertices() -> None:
    assert [point.tensor for point in all_cut_points(CHAIN)] == ["a", "b", "c", "e", "f", "g", "h"]
    assert all_cut_points(CHAIN)[-1].share == 1.0


def test_between_residual_blocks_not_inside() -> None:
    assert [point.tensor for point in all_cut_points(RESIDUAL)] == ["a", "b", "e", "f"]
    assert [point.tensor for point in cut_points(RESIDUAL)] == ["b", "f"]


@pytest.mark.parametrize("model", [CHAIN, RESIDUAL])
def test_segments_compose_to_the_whole(model: onnx.ModelProto) -> None:
    batch = sample(model, items=3)
    whole = run(model, batch)
    for points in ([], cut_points(model)[:1], cut_points(model), all_cut_points(model)):
        segments = split(model, [point.tensor for point in points])
        assert len(segments) == len(points) + 1
        assert most_different(run_segments(segments, batch), whole) <= 1e-5


def test_a_segment_has_one_input_of_declared_type_and_shape_and_only_its_own_weights() -> None:
    segments = split(CHAIN, ["b", "f"])
    assert [[value.name for value in each.graph.input] for each in segments] == [["x"], ["b"], ["f"]]
    assert [[value.name for value in each.graph.output] for each in segments] == [["b"], ["f"], ["scores"]]
    weights = [[tensor.name for tensor in each.graph.initializer] for each in segments]
    assert weights == [["w1"], ["w2"], ["w3"]]
    assert segments[1].graph.input[0] == helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N", 4, 8, 8])


def test_a_fixed_batch_stays_fixed() -> None:
    fixed = network("(float[2,4] x) => (float[2,4] y)", "a = MatMul(x, w1) y = MatMul(a, w2)", w1=[4, 4], w2=[4, 4])
    (point,) = cut_points(fixed)
    assert (point.shape, point.flops, point.share) == ((2, 4), 16, 0.5)
    _, last = split(fixed, ["a"])
    assert last.graph.input[0] == helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 4])


def test_several_outputs_come_from_the_last_segment_in_their_order() -> None:
    model = network(
        "(float[N,4] x) => (float[N,4] second, float[N,2] first)",
        "a = MatMul(x, w1) first = MatMul(a, w2) b = Sigmoid(a) second = MatMul(b, w1)",
        w1=[4, 4],
        w2=[4, 2],
    )
    assert [point.tensor for point in all_cut_points(model)] == ["a"]
    head, tail = split(model, ["a"])
    assert [value.name for value in tail.graph.output] == ["second", "first"]
    # A weight that both need goes with both.
    assert [tensor.name for tensor in head.graph.initializer] == ["w1"]
    assert most_different(run_segments([head, tail], sample(model)), run(model, sample(model))) <= 1e-5


def test_an_output_taken_early_leaves_nothing_to_cut_behind_it() -> None:
    model = network(
        "(float[N,4] x) => (float[N,4] early, float[N,4] late)",
        "a = MatMul(x, w) early = Relu(a) b = MatMul(a, w) late = Relu(b)",
        w=[4, 4],
    )
    assert [point.tensor for point in all_cut_points(model)] == ["a"]


def test_a_tensor_without_the_batch_on_its_first_axis_is_no_cut() -> None:
    turned = network(
        "(float[N,4] x) => (float[N,4] y)",
        "a = MatMul(x, w) b = Transpose<perm = [1,0]>(a) c = Transpose<perm = [1,0]>(b) y = MatMul(c, w)",
        w=[4, 4],
    )
    assert [point.tensor for point in all_cut_points(turned)] == ["a", "c"]
    merged = network(
        "(float[N,4,6] x) => (float[N,4,6] y)",
        """
        flat = Constant<value_ints = [-1, 6]>()
        full = Constant<value_ints = [-1, 4, 6]>()
        a = MatMul(x, w) b = Reshape(a, flat) c = Relu(b) d = Reshape(c, full) y = MatMul(d, w)
        """,
        w=[6, 6],
    )
    assert [point.tensor for point in all_cut_points(merged)] == ["a", "d"]


def test_where_the_length_of_the_first_axis_is_not_known_is_no_cut() -> None:
    """Windows of a picture that are counted along the first axis, as Swin transformers do."""
    model = network(
        "(float[N,4,6] x) => (float[N,4,6] y)",
        """
        four = Constant<value_ints = [4]>() six = Constant<value_ints = [6]>()
        n = Shape<start = 0, end = 1>(x) many = Mul(n, four) odd = Abs(many) flat = Concat<axis = 0>(odd, six)
        a = MatMul(x, w) b = Reshape(a, flat) c = Relu(b) size = Shape(c) e = Reshape(c, size)
        full = Concat<axis = 0>(n, four, six) d = Reshape(e, full) y = MatMul(d, w)
        """,
        w=[6, 6],
    )
    assert [point.tensor for point in all_cut_points(model)] == ["a", "d"]
    batch = sample(model)
    assert most_different(run(model, batch), run_segments(split(model, ["a", "d"]), batch)) < 1e-6


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        (["nothing"], r"no such tensor; allowed: a, b, e, f"),
        (["c"], r"cannot cut at 'c': other data flow beside it; all pass 'b' and 'e'"),
        (["x"], "begins or ends there"),
        (["y"], "begins or ends there"),
        (["w1"], "no such tensor"),
        (["f", "b"], "cannot cut at 'f', then at 'b': the data pass 'b' first"),
        (["b", "b"], "cannot cut at 'b' twice"),
    ],
)
def test_bad_cuts_say_what_is_wrong(cuts: list[str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        split(RESIDUAL, cuts)


def test_what_cannot_be_cut_says_so() -> None:
    two = network("(float[N,4] x, float[N,4] z) => (float[N,4] y)", "y = Add(x, z)")
    with pytest.raises(ModelError, match="must have one input; has x, z"):
        cut_points(two)
    scalar = network("(float x) => (float y)", "y = Relu(x)")
    with pytest.raises(ModelError, match="'x' has no axis for the batch"):
        cut_points(scalar)
    unknown = network("(float[N,4] x) => (float[N,4] y)", "y = Relu(x)")
    del unknown.opset_import[:]
    with pytest.raises(ModelError, match=r"not a valid graph: .*No opset import"):
        cut_points(unknown)


def test_a_single_layer_has_no_points() -> None:
    single = network("(float[N,4] x) => (float[N,4] y)", "y = MatMul(x, w)", w=[4, 4])
    assert cut_points(single) == []
    (whole,) = split(single, [])
    assert np.array_equal(run(whole, sample(single))[0], run(single, sample(single))[0])
