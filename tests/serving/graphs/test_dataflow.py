"""Nodes that exporters write besides the flow of data: casts of weights, constants, sizes, functions, subgraphs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from serving.graphs.cut_points import all_cut_points, cut_points
from serving.graphs.segments import split
from tests.serving.graphs.support import most_different, network, run, run_segments, sample

SIZE_KEPT = """
    size = Shape (x)
    zero = Constant <value = int64[1] {0}> ()
    batch = Gather (size, zero)
    rest = Constant <value = int64[1] {-1}> ()
    target = Concat <axis = 0> (batch, rest)
    a = Conv (x, w1)
    b = Relu (a)
    c = Conv (b, w2)
    d = Reshape (c, target)
    y = MatMul (d, w3)
"""
"""``n = x.size(0)`` before the network, ``view(n, -1)`` at its end."""

RESIZED = """
    a = Conv (x, w1)
    size = Shape <start = 2> (a)
    channels = Shape <start = 1, end = 2> (a)
    batch = Shape <end = 1> (a)
    b = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a)
    c = Conv (b, w2)
    d = Relu (c)
    target = Concat <axis = 0> (batch, channels, size)
    y = Resize <mode = "nearest"> (d, , , target)
"""
"""``interpolate(d, size=a.shape[2:])``: a later layer is as large as an earlier one."""


def cuts(model: onnx.ModelProto) -> list[str]:
    return [point.tensor for point in all_cut_points(model)]


def assert_composes(model: onnx.ModelProto, items: int = 3) -> None:
    batch = sample(model, items)
    assert most_different(run_segments(split(model, cuts(model)), batch), run(model, batch)) <= 1e-5


@pytest.mark.parametrize("batch", ["N", "1"])
def test_sizes_are_no_flow_of_data(batch: str) -> None:
    kept = network(
        f"(float[{batch},2,4,4] x) => (float[{batch},3] y)", SIZE_KEPT, w1=[2, 2, 1, 1], w2=[2, 2, 1, 1], w3=[32, 3]
    )
    assert cuts(kept) == ["a", "b", "c", "d"]
    assert_composes(kept)
    resized = network(
        f"(float[{batch},2,4,4] x) => (float[{batch},2,4,4] y)", RESIZED, w1=[2, 2, 1, 1], w2=[2, 2, 1, 1]
    )
    assert cuts(resized) == ["a", "b", "c", "d"]
    assert_composes(resized)


def test_a_size_that_the_input_leaves_open_is_data() -> None:
    model = network(
        "(float[N,2,H,W] x) => (float[N,2,H,W] y)",
        """
        size = Shape (x)
        a = Relu (x)
        b = Sigmoid (a)
        y = Reshape (b, size)
        """,
    )
    assert cuts(model) == []


def test_weights_stored_as_float16_are_no_flow_of_data() -> None:
    model = network(
        "(float[N,4] x) => (float[N,4] y)",
        "w = Cast<to = 1>(half) a = MatMul(x, w) b = Relu(a) v = Cast<to = 1>(half) y = MatMul(b, v)",
        half=[4, 4],
    )
    half = numpy_helper.to_array(model.graph.initializer[0]).astype(np.float16)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(half, "half"))
    assert cuts(model) == ["a", "b"]
    assert cut_points(model)[0].share == 0.5
    assert_composes(model)


def test_what_no_output_needs_counts_nothing() -> None:
    model = network(
        "(float[N,4] x) => (float[N,4] y)",
        "a = MatMul(x, w) unread = MatMul(x, w) b = Relu(a) more = MatMul(a, w) y = MatMul(b, w)",
        w=[4, 4],
    )
    assert cuts(model) == ["a", "b"]
    assert [point.flops for point in cut_points(model)] == [16]
    assert_composes(model)


def test_a_subgraph_reads_from_outside() -> None:
    branch = helper.make_node("Relu", ["a"], ["inside"])
    then = helper.make_graph([branch], "then", [], [helper.make_tensor_value_info("inside", TensorProto.FLOAT, None)])
    other = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["outside"])],
        "other",
        [],
        [helper.make_tensor_value_info("outside", TensorProto.FLOAT, None)],
    )
    model = network(
        "(float[N,4] x) => (float[N,4] y)",
        "a = MatMul(x, w) b = MatMul(a, w) yes = Constant<value = bool {1}>() c = Relu(b) y = MatMul(c, w)",
        w=[4, 4],
    )
    model.graph.node.insert(3, helper.make_node("If", ["yes"], ["chosen"], then_branch=then, else_branch=other))
    model.graph.node.insert(4, helper.make_node("Add", ["chosen", "b"], ["sum"]))
    model.graph.node[5].input[0] = "sum"
    onnx.checker.check_model(model, full_check=True)
    # `b` is no cut: `a` is read by the subgraph further on.
    assert cuts(model) == ["a", "sum", "c"]
    assert_composes(model)


def test_functions_are_written_out() -> None:
    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        net (float[N,4] x) => (float[N,4] y)
        <float[4,4] w = {1,0,0,0, 0,2,0,0, 0,0,3,0, 0,0,0,4}> { a = own.layer(x, w) y = own.layer(a, w) }
        <domain: "own", opset_import: ["" : 17]> layer (data, weight) => (result)
        { product = MatMul(data, weight) result = Relu(product) }
        """
    )
    (point,) = cut_points(model)
    assert (point.flops, point.share, point.shape) == (16, 0.5, (None, 4))
    assert_composes(model)


def test_weights_that_are_inputs_too_are_weights() -> None:
    model = network("(float[N,4] x) => (float[N,4] y)", "a = MatMul(x, w) y = MatMul(a, w)", w=[4, 4])
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 4]))
    model.ir_version = 3
    assert cuts(model) == ["a"]
    assert_composes(model)
